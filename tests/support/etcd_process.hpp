// SPDX-License-Identifier: MIT
// EtcdProcess: a real etcd of our own, of one or several members, on free loopback ports, with its
// data in a temporary directory. Its timers are short (a heartbeat of 10 ms, an election of 100
// ms), so leases of a second are possible. Each member is killed by its process id when this object
// goes, and by the kernel when the thread that started it ends first.
#pragma once

#include "base/result.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace dlock::test {

class EtcdProcess {
 public:
  struct Options {
    std::size_t members = 1;
    bool gateway = true;
    bool tls = false;  // for clients, with a certificate for 127.0.0.1 signed by itself
  };
  // Returns when every member answers; Errc::unavailable or system with the reason.
  static Result<std::unique_ptr<EtcdProcess>> start(const Options& options);

  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;
  ~EtcdProcess();

  void kill(std::size_t member = 0);  // as a crash
  Result<void> restart(std::size_t member = 0);
  void freeze(std::size_t member = 0);  // it does nothing any more
  void thaw(std::size_t member = 0);

  // `user` is "name:password@". Of all members, or of one.
  std::string url(const std::string& user = "") const;
  std::string url_of(std::size_t member, const std::string& user = "") const;
  std::string certificate() const { return directory_.path() + "/cert.pem"; }

  // By the real client: `words` follow "etcdctl".
  Result<void> etcdctl(std::vector<std::string> words) const;
  // The users root ("s3cret", everything) and ann ("s3cret", the keys below "ann/"); from now on no
  // request is carried out without a login.
  Result<void> demand_login();

 private:
  struct Member {
    std::uint16_t port = 0;
    std::uint16_t peer_port = 0;
    pid_t pid = -1;
  };
  EtcdProcess() = default;
  std::string scheme() const { return options_.tls ? "https://" : "http://"; }
  void spawn_member(std::size_t member);
  Result<void> await(std::size_t member);

  TempDir directory_;
  Options options_;
  std::vector<Member> members_;
};

}  // namespace dlock::test
