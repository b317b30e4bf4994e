// SPDX-License-Identifier: MIT
// The commands that RedisClient sends: as words, and as bytes of Redis' protocol.
#pragma once

#include "base/boot_clock.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

using Words = std::vector<std::string_view>;

// Appends the command to `out`. The words may contain any bytes.
void append_command(std::string& out, const Words& words);

// Return EVAL with a script's text, and EVALSHA with its SHA1. `key_count` is the number of `keys`,
// in digits.
Words eval_words(std::string_view text,
                 std::string_view key_count,
                 const Words& keys,
                 const Words& args);
Words evalsha_words(std::string_view sha1,
                    std::string_view key_count,
                    const Words& keys,
                    const Words& args);

// Returns CLIENT TRACKING: messages about changed keys go to the connection with number `listener`,
// but not for our own changes.
Words tracking_words(std::string_view listener);

// Appends WAIT, which answers how many replicas have this connection's last write: as soon as
// `replicas` have it, and after at most 200 ms (its timeout is 100 ms, and the server checks
// timeouts every 100 ms). https://redis.io/docs/latest/commands/wait/
void append_wait(std::string& out, int replicas);
constexpr Duration k_wait_takes = std::chrono::milliseconds(200);

}  // namespace dlock
