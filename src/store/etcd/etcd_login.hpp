// SPDX-License-Identifier: MIT
// EtcdLogin: our user and password for an etcd, and the token that it gave us for them. All
// connections to its members may share one. A token ends five minutes after its last use, with the
// member that issued it, and with each change of the users. A new token costs the server some 60 ms
// of bcrypt.
//
// If etcd asks for no login, the user is ignored, as etcd's own clients do.
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
  // Without a user there is no login, and no token is needed.
  EtcdLogin(std::string user, Secret password)
      : user_(std::move(user)), password_(std::move(password)) {}

  bool has_user() const { return !user_.empty(); }
  bool needed() const { return has_user() && !token_; }
  std::string token() const { return token_.value_or(""); }  // empty: no token is needed or known
  void forget() { token_.reset(); }

  // Connects the wire, and logs in if that is needed. Errc::denied: a wrong user or password; other
  // errors as of EtcdWire.
  Result<void> reach(EtcdWire& wire, Time limit);

 private:
  std::string user_;
  Secret password_;
  std::optional<std::string> token_;
};

}  // namespace dlock
