// SPDX-License-Identifier: MIT
// What every store is opened with.
#pragma once

#include "base/secret.hpp"
#include "sys/interrupt.hpp"
#include "sys/tls_settings.hpp"

#include <string>

namespace dlock {

struct StoreOptions {
  std::string url;
  std::string prefix;    // before every name, where the store shares its keys with others
  Secret password;       // if the URL has none
  TlsSettings tls = {};  // of a URL with TLS
  const Interrupt* interrupt = nullptr;  // null: no call is interrupted
};

}  // namespace dlock
