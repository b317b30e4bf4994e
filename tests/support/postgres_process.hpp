// SPDX-License-Identifier: MIT
// PostgresProcess: a real PostgreSQL of our own in a temporary directory, with a unix socket there
// and a free port of 127.0.0.1, without care for its disk. If we are root it runs as the user
// "postgres". It is killed when this object goes, and by the kernel when the thread that started it
// ends first. It takes a second or two to make: tests share one.
//
// Users: "postgres" by the socket without a password; on TCP "ann" with the password "s3cret"
// (scram-sha-256), "tls" only with TLS, and all others are rejected. The database is "postgres".
#pragma once

#include "base/result.hpp"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "support/temp_dir.hpp"

namespace dlock::test {

class PostgresProcess {
 public:
  // Returns when it answers; Errc::unavailable or system with the reason.
  static Result<std::unique_ptr<PostgresProcess>> create();

  PostgresProcess(const PostgresProcess&) = delete;
  PostgresProcess& operator=(const PostgresProcess&) = delete;
  ~PostgresProcess();

  void kill();           // as a crash: every session ends at once
  Result<void> start();  // after kill(), at the same places

  std::string socket_url() const;  // of the user "postgres"
  // `user` is "name:password"; of 127.0.0.1, unless it is another name of it.
  std::string url(const std::string& user, const std::string& host = "127.0.0.1") const;
  std::string socket_path() const { return directory() + "/.s.PGSQL." + std::to_string(port_); }
  const std::string& directory() const { return directory_.path(); }
  // The CA that has signed its certificate, which is for "localhost".
  std::string ca_file() const { return directory() + "/ca.crt"; }

 private:
  PostgresProcess() = default;
  Result<void> initialize();
  std::string log() const;

  TempDir directory_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace dlock::test
