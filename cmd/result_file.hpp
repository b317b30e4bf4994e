// SPDX-License-Identifier: MIT
// --result-file: the outcome of a run as one JSON object, for the next step of a job. The file is
// complete or absent: a new file is written and then renamed, and an old file is never written to.
#pragma once

#include "base/result.hpp"
#include "sys/unique_fd.hpp"

#include <string>
#include <string_view>

namespace dlock {

class ResultFile {
 public:
  // Checks that the file can be made, and removes the file of an earlier run. Errc::bad_config: one
  // of these failed, or something other than a regular file has this path.
  static Result<ResultFile> prepare(const std::string& path);

  Result<void> write(std::string_view text) const;

 private:
  ResultFile() = default;

  UniqueFd directory_;  // kept open, so that it is found even if it was moved
  std::string name_;    // name of the file in directory_
  std::string path_;    // path as given, escaped
};

}  // namespace dlock
