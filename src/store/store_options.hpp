// SPDX-License-Identifier: MIT
// What every store is opened with.
#pragma once

#include "base/secret.hpp"
#include "sys/interrupt.hpp"

#include <string>

namespace dlock {

struct StoreOptions {
  std::string url;
  std::string prefix;  // before every name, where the store shares its keys with others
  Secret password;     // if the URL has none
  const Interrupt* interrupt = nullptr;  // null: no call is interrupted
};

}  // namespace dlock
