// SPDX-License-Identifier: MIT
// The commands that RedisClient sends: their words, and these as bytes of Redis' protocol.
#pragma once

#include "base/boot_clock.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

using Words = std::vector<std::string_view>;

// Appends the command to `out`. The words may have any bytes.
void append_command(std::string& out, const Words& words);

// EVAL of a script's text, EVALSHA of its SHA1; `key_count` is the number of `keys`, in digits.
Words eval_words(std::string_view text,
                 std::string_view key_count,
                 const Words& keys,
                 const Words& args);
Words evalsha_words(std::string_view sha1,
                    std::string_view key_count,
                    const Words& keys,
                    const Words& args);

// Messages about changed keys go to the connection `listener`; our own changes cause no message.
Words tracking_words(std::string_view listener);

// WAIT: how many replicas have what this connection wrote last. Answered once `replicas` of them
// have it, and within 200 ms in any case: it waits for 100 ms, and the server looks at the time
// every 100 ms. https://redis.io/docs/latest/commands/wait/
void append_wait(std::string& out, int replicas);
constexpr Duration k_wait_takes = std::chrono::milliseconds(200);

}  // namespace dlock
