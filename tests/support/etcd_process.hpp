// SPDX-License-Identifier: MIT
// EtcdProcess: a real etcd for one test, with one or several members on free loopback ports and its
// data in a temporary directory. Its timers are short (heartbeat 10 ms, election 100 ms), so leases
// of one second are possible. The destructor kills each member by its process id; if the thread
// that started the members ends first, the kernel kills them.
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
    bool tls = false;  // for clients, with a self-signed certificate for 127.0.0.1
  };
  // Returns when every member answers. Errc::unavailable or system: it does not; the text says why.
  static Result<std::unique_ptr<EtcdProcess>> start(const Options& options);

  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;
  ~EtcdProcess();

  void kill(std::size_t member = 0);  // SIGKILL, as in a crash
  Result<void> restart(std::size_t member = 0);
  void freeze(std::size_t member = 0);  // SIGSTOP: the member does nothing any more
  void thaw(std::size_t member = 0);

  // Returns the URL of all members, or of one. `user`: "name:password@".
  std::string url(const std::string& user = "") const;
  std::string url_of(std::size_t member, const std::string& user = "") const;
  std::string certificate() const { return directory_.path() + "/cert.pem"; }

  // Runs the real client. `words` follow "etcdctl".
  Result<void> etcdctl(std::vector<std::string> words) const;
  // Creates the users root (all rights) and ann (the keys below "ann/"), both with the password
  // "s3cret". From now on every request needs a login.
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
