// SPDX-License-Identifier: MIT
// The one list of stores: a URL scheme, and who keeps locks there. Opening connects to nothing.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "core/lock_store.hpp"
#include "sys/wake_up.hpp"

#include <memory>
#include <string>

namespace dlock {

struct StoreOptions {
  std::string url;
  std::string prefix;  // before every name, where the store shares its keys with others
  Secret password;     // if the URL has none
  const WakeUp* interrupt = nullptr;  // raised by another thread: the call at hand ends (cancelled)
};

// Errc::bad_usage for a URL that is none of ours; the text says why, and quotes no part of the URL:
// a badly written one may have its password anywhere.
Result<std::unique_ptr<LockStore>> open_store(const StoreOptions& options);

}  // namespace dlock
