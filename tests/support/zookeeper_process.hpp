// SPDX-License-Identifier: MIT
// ZookeeperProcess: a real ZooKeeper for tests, in a temporary folder, on a free port of 127.0.0.1.
// It does not sync to the disk. The destructor kills it; if the thread that started it ends first,
// the kernel kills it. Its start takes most of a second, so tests share one.
//
// Its tick is 100 ms unless the settings say otherwise, so sessions last from 200 ms to 2 s.
// ZookeeperEnsemble: three servers that form an ensemble.
#pragma once

#include "base/result.hpp"

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "support/temp_dir.hpp"

namespace dlock::test {

class ZookeeperProcess {
 public:
  // Returns when the server serves. Errc::unavailable or system: it does not; the text says why.
  // `settings`: more lines of zoo.cfg; $DIR is its folder.
  static Result<std::unique_ptr<ZookeeperProcess>> create(const std::string& settings = "");

  ZookeeperProcess(const ZookeeperProcess&) = delete;
  ZookeeperProcess& operator=(const ZookeeperProcess&) = delete;
  ~ZookeeperProcess();

  void kill();           // SIGKILL, as in a crash
  Result<void> start();  // after kill(), with the same folder and port
  void freeze() const;   // returns when all its threads have stopped
  void thaw() const;

  std::uint16_t port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "zookeeper://" + host(); }
  const std::string& directory() const { return directory_.path(); }
  // Returns "standalone", "leader" or "follower"; empty: it does not serve.
  std::string mode() const;

 private:
  friend class ZookeeperEnsemble;
  ZookeeperProcess() = default;
  void configure(std::uint16_t port, const std::string& settings) const;
  Result<void> spawn();
  Result<void> await_service();
  std::string log() const;

  TempDir directory_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

// Freezes a server as long as this object lives.
class Frozen {
 public:
  explicit Frozen(const ZookeeperProcess& server) : server_(server) { server_.freeze(); }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;
  ~Frozen() { server_.thaw(); }

 private:
  const ZookeeperProcess& server_;
};

// `settings`: as for ZookeeperProcess.
class ZookeeperEnsemble {
 public:
  static constexpr std::size_t k_servers = 3;
  static Result<std::unique_ptr<ZookeeperEnsemble>> create(const std::string& settings = "");

  ZookeeperProcess& at(std::size_t server) { return *servers_.at(server); }
  // Returns the number of the leader. Errc::unavailable: no leader within ten seconds.
  Result<std::size_t> leader() const;
  // Returns the URL of all servers, beginning with `first`.
  std::string url(std::size_t first = 0) const;

 private:
  std::array<std::unique_ptr<ZookeeperProcess>, k_servers> servers_;
};

}  // namespace dlock::test
