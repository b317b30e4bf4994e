// SPDX-License-Identifier: MIT
// EtcdLogin: who we are to an etcd, and the token by which it knows us. All connections to its
// members may share one. A token ends five minutes after its last use, with the member that gave
// it, and with each change of the users. To get one costs the server some 60 ms of bcrypt.
//
// An etcd that asks for no login takes a user all the same, as its own clients have it.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "store/etcd/etcd_wire.hpp"

#include <optional>
#include <string>
#include <utility>

namespace dlock {

class EtcdLogin {
 public:
  // Without a user there is no login, and no token is ever needed.
  EtcdLogin(std::string user, Secret password)
      : user_(std::move(user)), password_(std::move(password)) {}

  bool has_user() const { return !user_.empty(); }
  bool needed() const { return has_user() && !token_; }
  std::string token() const { return token_.value_or(""); }  // empty: none is needed, or known
  void forget() { token_.reset(); }

  // The wire is connected afterwards. It logs in where that is needed. Errc::denied: a wrong user
  // or password; the rest as of EtcdWire.
  Result<void> reach(EtcdWire& wire, Time limit);

 private:
  std::string user_;
  Secret password_;
  std::optional<std::string> token_;
};

}  // namespace dlock
