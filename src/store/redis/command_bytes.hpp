// SPDX-License-Identifier: MIT
// Makes the commands that RedisClient sends, and turns them into bytes of the Redis protocol.
#pragma once

#include "base/boot_clock.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

using Words = std::vector<std::string_view>;

// Appends the command to `out`. The words may contain any bytes.
void append_command(std::string& out, const Words& words);

// Return the commands EVAL with a script's text, and EVALSHA with a script's SHA1. `key_count` is
// the number of `keys`, in digits.
Words eval_words(std::string_view text,
                 std::string_view key_count,
                 const Words& keys,
                 const Words& args);
Words evalsha_words(std::string_view sha1,
                    std::string_view key_count,
                    const Words& keys,
                    const Words& args);

// Returns the command CLIENT TRACKING. With it, the server reports changes of the keys that this
// connection reads to the connection with the number `listener`, except changes by this connection.
Words tracking_words(std::string_view listener);

// Appends the command WAIT. Its answer says how many replicas have the last write of this
// connection. The answer comes as soon as `replicas` of them have it, and after at most 200 ms: the
// timeout is 100 ms, and the server checks timeouts every 100 ms.
// https://redis.io/docs/latest/commands/wait/
void append_wait(std::string& out, int replicas);
constexpr Duration k_wait_takes = std::chrono::milliseconds(200);

}  // namespace dlock
