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
  std::string url;     // the URL without its TLS settings
  std::string prefix;  // put before every name, if the store shares its keys with other programs
  Secret password;     // the password, if the URL has none
  Secret sentinel_password = {};  // for the sentinels, which never get `password`
  TlsSettings tls = {};           // for a URL with TLS
  // How many replicas must have a grant or a renewal; nullopt: the store's default.
  std::optional<int> replicas = {};
  bool votes = false;  // the store is a member of a quorum: Claim::least_uptime counts
  const Interrupt* interrupt = nullptr;  // null: no call is interrupted
};

}  // namespace dlock
