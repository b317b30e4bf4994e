// SPDX-License-Identifier: MIT
// --result-file: the outcome of a run, as one JSON object for the next step of a job. The file is
// complete or absent: each time a new file is written and renamed; an old one is never written
// into.
#pragma once

#include "base/result.hpp"
#include "sys/unique_fd.hpp"

#include <string>
#include <string_view>

namespace dlock {

class ResultFile {
 public:
  // Makes sure that the file can be made, and removes the file of an earlier run. Errc::bad_config
  // if that fails, or if something other than a regular file is there.
  static Result<ResultFile> prepare(const std::string& path);

  Result<void> write(std::string_view text) const;

 private:
  ResultFile() = default;

  UniqueFd directory_;  // opened at the start, wherever it is moved to
  std::string name_;    // in that directory
  std::string path_;    // as given, escaped
};

}  // namespace dlock
