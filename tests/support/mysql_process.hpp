// SPDX-License-Identifier: MIT
// MysqlProcess: a real MariaDB server for tests, on a unix socket and a free loopback port, with
// its data in a temporary directory. The destructor kills it by its process id; if the thread that
// started it ends first, the kernel kills it. Its start takes seconds, so tests share one.
#pragma once

#include "base/result.hpp"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "support/temp_dir.hpp"

namespace dlock::test {

class MysqlProcess {
 public:
  // Starts a server with the database "locks", the accounts root (no password) and ann ("s3cret"),
  // and a self-signed certificate for 127.0.0.1. Returns when the server listens; Errc::unavailable
  // if it does not within 30 s.
  static Result<std::unique_ptr<MysqlProcess>> start();

  MysqlProcess(const MysqlProcess&) = delete;
  MysqlProcess& operator=(const MysqlProcess&) = delete;
  ~MysqlProcess() { kill(); }

  void kill();
  Result<void> restart();  // after kill(), with the same data, socket and port

  std::string socket() const { return directory_.path() + "/s.sock"; }
  std::uint16_t port() const { return port_; }
  std::string certificate() const { return directory_.path() + "/cert.pem"; }
  // Returns the URL: by the socket, or by TCP without TLS. `user`: as "ann:s3cret@".
  std::string url(const std::string& user = "root@") const;
  std::string tcp_url(const std::string& user = "ann:s3cret@") const;
  pid_t pid() const { return pid_; }

 private:
  MysqlProcess() = default;
  Result<void> make_data();

  TempDir directory_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace dlock::test
