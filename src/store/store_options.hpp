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
  std::string url;                // without settings of TLS
  std::string prefix;             // before every name, where the store shares its keys with others
  Secret password;                // if the URL has none
  Secret sentinel_password = {};  // of the sentinels; they never get the one above
  TlsSettings tls = {};           // of a URL with TLS
  // How many replicas must have a grant or a renewal; nothing: as the store likes it.
  std::optional<int> replicas = {};
  bool votes = false;                    // one of a quorum: Claim::least_uptime counts
  const Interrupt* interrupt = nullptr;  // null: no call is interrupted
};

}  // namespace dlock
