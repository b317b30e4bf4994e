// SPDX-License-Identifier: MIT
// TempDir: a new directory of one test, removed with everything in it at the end.
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
    // Short, because a socket's path must fit into 108 bytes.
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
