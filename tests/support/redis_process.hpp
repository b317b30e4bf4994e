// SPDX-License-Identifier: MIT
// RedisProcess: a real redis-server for tests, on a unix socket in a temporary directory, without
// persistence. The destructor kills it by its process id; if the thread that started it ends first,
// the kernel kills it.
#pragma once

#include "base/result.hpp"

#include <sys/types.h>

#include <memory>
#include <string>

#include "support/temp_dir.hpp"

namespace dlock::test {

class RedisProcess {
 public:
  // Returns when the server answers PING; Errc::unavailable if it does not within 10 s.
  static Result<std::unique_ptr<RedisProcess>> start();

  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;
  ~RedisProcess();

  std::string socket() const { return directory_.path() + "/s.sock"; }
  std::string url() const { return "redis+unix://" + socket(); }
  pid_t pid() const { return pid_; }

 private:
  RedisProcess() = default;
  bool answers() const;

  TempDir directory_;
  pid_t pid_ = -1;
};

}  // namespace dlock::test
