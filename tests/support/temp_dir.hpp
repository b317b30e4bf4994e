// SPDX-License-Identifier: MIT
// TempDir: a new directory for one test. The destructor removes it with everything in it.
#pragma once

#include "base/assert.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace dlock::test {

class TempDir {
 public:
  TempDir() {
    // The path is short because the path of a socket is limited to 107 bytes.
    path_ = "/tmp/dlock-test-XXXXXX";
    DLOCK_ASSERT(::mkdtemp(path_.data()) != nullptr);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dlock::test
