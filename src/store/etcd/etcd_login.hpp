// SPDX-License-Identifier: MIT
// EtcdLogin: our user and password for an etcd, and the token that etcd issued for them. All
// connections to its members may share one EtcdLogin. A token ends five minutes after its last use,
// when the member that issued it ends, and whenever users are changed. A new token costs the server
// some 60 ms of bcrypt.
//
// If etcd requires no login, the user is ignored, as in etcd's own clients.
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
  // Without a user no login and no token are needed.
  EtcdLogin(std::string user, Secret password)
      : user_(std::move(user)), password_(std::move(password)) {}

  bool has_user() const { return !user_.empty(); }
  bool needed() const { return has_user() && !token_; }
  // Returns the token; empty: no token is needed, or none has been issued yet.
  std::string token() const { return token_.value_or(""); }
  void forget() { token_.reset(); }

  // Connects the wire and logs in, if necessary. Errc::denied: user or password is wrong. Other
  // errors are those of EtcdWire.
  Result<void> reach(EtcdWire& wire, Time limit);

 private:
  std::string user_;
  Secret password_;
  std::optional<std::string> token_;
};

}  // namespace dlock
