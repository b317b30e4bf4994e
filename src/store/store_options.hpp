// SPDX-License-Identifier: MIT
// What every store is opened with.
#pragma once

#include "base/secret.hpp"
#include "sys/interrupt.hpp"
#include "sys/tls_settings.hpp"

#include <optional>
#include <string>

namespace dlock {

struct StoreOptions {
  std::string url;  // the URL, from which TLS settings have been removed
  // Only for Redis: put before every name, so that no name meets a key of another program.
  std::string prefix;
  Secret password;                // used if the URL has no password
  Secret sentinel_password = {};  // for the sentinels of Redis; they never get `password`
  TlsSettings tls = {};           // used if the URL has TLS
  // How many replicas must confirm a grant or a renewal; nullopt: the store decides.
  std::optional<int> replicas = {};
  bool votes = false;  // the store is one server of a quorum, and obeys Claim::least_uptime
  const Interrupt* interrupt = nullptr;  // null: no call is interrupted
};

}  // namespace dlock
