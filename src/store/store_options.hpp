// SPDX-License-Identifier: MIT
// The options with which every store is opened.
#pragma once

#include "base/secret.hpp"
#include "sys/interrupt.hpp"
#include "sys/tls_settings.hpp"

#include <optional>
#include <string>

namespace dlock {

struct StoreOptions {
  std::string url;                // without TLS settings
  std::string prefix;             // before every name, if the store shares its keys with others
  Secret password;                // if the URL has none
  Secret sentinel_password = {};  // for the sentinels; they never get the other password
  TlsSettings tls = {};           // for a URL with TLS
  // How many replicas must have a grant or a renewal; nothing: the store's default.
  std::optional<int> replicas = {};
  bool votes = false;                    // a member of a quorum: Claim::least_uptime counts
  const Interrupt* interrupt = nullptr;  // null: no call is interrupted
};

}  // namespace dlock
