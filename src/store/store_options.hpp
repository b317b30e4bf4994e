// SPDX-License-Identifier: MIT
// What every store is opened with.
#pragma once

#include "base/secret.hpp"
#include "sys/wake_up.hpp"

#include <string>

namespace dlock {

struct StoreOptions {
  std::string url;
  std::string prefix;  // before every name, where the store shares its keys with others
  Secret password;     // if the URL has none
  const WakeUp* interrupt = nullptr;  // raised by another thread: the call at hand ends (cancelled)
};

}  // namespace dlock
