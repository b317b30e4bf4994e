// SPDX-License-Identifier: MIT
// PostgresProcess: a real PostgreSQL for tests, in a temporary directory with a unix socket, and on
// a free port of 127.0.0.1. It does not sync to the disk. For root it runs as the user "postgres".
// The destructor kills it; if the thread that started it ends first, the kernel kills it. Its start
// takes a second or two, so tests share one.
//
// Users: "postgres" by the socket, without a password; by TCP "ann" with the password "s3cret"
// (scram-sha-256), and "tls" only with TLS. All others are rejected. The database is "postgres".
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
  // Returns when the server answers. Errc::unavailable or system: it does not; the text says why.
  static Result<std::unique_ptr<PostgresProcess>> create();

  PostgresProcess(const PostgresProcess&) = delete;
  PostgresProcess& operator=(const PostgresProcess&) = delete;
  ~PostgresProcess();

  void kill();           // as in a crash: every session ends at once
  Result<void> start();  // after kill(), with the same socket and port

  std::string socket_url() const;  // for the user "postgres"
  // Returns a URL for TCP. `user`: "name:password"; `host`: a name or address of this machine.
  std::string url(const std::string& user, const std::string& host = "127.0.0.1") const;
  std::string socket_path() const { return directory() + "/.s.PGSQL." + std::to_string(port_); }
  const std::string& directory() const { return directory_.path(); }
  // Returns the file of the CA that has signed the certificate of the server, which is for
  // "localhost".
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
