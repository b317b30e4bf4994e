// SPDX-License-Identifier: MIT
// The timing options of resolv.conf(5), and how long a name server is waited for.
#pragma once

#include "base/boot_clock.hpp"

#include <chrono>
#include <string_view>

namespace dlock {

struct ResolvConf {
  // Number of name servers, at least 1: if the file names none, a local one is asked.
  int servers = 1;
  int attempts = 2;                  // how often each server is asked: 1 to 5
  std::chrono::seconds timeout{30};  // limit of the first attempt: 1 s to 30 s
};

// Parses the text of resolv.conf(5); skips what it does not understand.
ResolvConf read_resolv_conf(std::string_view text);

// Returns how long to wait for one name server before the next is asked. All servers share the time
// `search`: each is asked twice, the second time for twice as long; with attempts = 1, once. At
// least a millisecond, at most conf.timeout.
std::chrono::milliseconds patience(Duration search, const ResolvConf& conf);

}  // namespace dlock
