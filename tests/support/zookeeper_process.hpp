// SPDX-License-Identifier: MIT
// ZookeeperProcess: a real ZooKeeper of our own in a temporary folder, on a free port of 127.0.0.1,
// without care for its disk. It is killed when this object goes, and by the kernel when the thread
// that started it ends first. It takes most of a second to make: tests share one.
//
// Its tick is 100 ms if the settings do not say otherwise, so sessions last from 200 ms to 2 s.
// ZookeeperEnsemble: three of them that are one.
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
  // `settings`: more lines of zoo.cfg; $DIR is its folder. Returns when it serves;
  // Errc::unavailable or system with the reason.
  static Result<std::unique_ptr<ZookeeperProcess>> create(const std::string& settings = "");

  ZookeeperProcess(const ZookeeperProcess&) = delete;
  ZookeeperProcess& operator=(const ZookeeperProcess&) = delete;
  ~ZookeeperProcess();

  void kill();           // as a crash
  Result<void> start();  // after kill(), at the same places
  void freeze() const;   // returns when none of its threads runs any more
  void thaw() const;

  std::uint16_t port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "zookeeper://" + host(); }
  const std::string& directory() const { return directory_.path(); }
  // "standalone", "leader", "follower"; empty: it does not serve.
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

// As long as this object lives.
class Frozen {
 public:
  explicit Frozen(const ZookeeperProcess& server) : server_(server) { server_.freeze(); }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;
  ~Frozen() { server_.thaw(); }

 private:
  const ZookeeperProcess& server_;
};

// `settings`: as above.
class ZookeeperEnsemble {
 public:
  static constexpr std::size_t k_servers = 3;
  static Result<std::unique_ptr<ZookeeperEnsemble>> create(const std::string& settings = "");

  ZookeeperProcess& at(std::size_t server) { return *servers_.at(server); }
  // Errc::unavailable: there is none within ten seconds.
  Result<std::size_t> leader() const;
  // All of them, `first` as the first.
  std::string url(std::size_t first = 0) const;

 private:
  std::array<std::unique_ptr<ZookeeperProcess>, k_servers> servers_;
};

}  // namespace dlock::test
