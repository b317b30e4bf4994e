// SPDX-License-Identifier: MIT
// The times in resolv.conf(5), and how long one name server may take.
#pragma once

#include "base/boot_clock.hpp"

#include <chrono>
#include <string_view>

namespace dlock {

struct ResolvConf {
  int servers = 1;                   // at least one: without a name server the local one is asked
  int attempts = 2;                  // how often each is asked: 1 to 5
  std::chrono::seconds timeout{30};  // limit of the first attempt: 1 s to 30 s
};

// Unreadable parts are left out.
ResolvConf read_resolv_conf(std::string_view text);

// How long a name server is waited for before the next one is asked: each is asked twice in all of
// the `search`, with twice the time for the second attempt. At least a millisecond.
std::chrono::milliseconds patience(Duration search, const ResolvConf& conf);

}  // namespace dlock
