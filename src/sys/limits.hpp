// SPDX-License-Identifier: MIT
// Limits of what a server, or a file that others may write, can cost dlock. With these limits a
// conversation needs less than 64 MiB of memory, whatever the server sends (tests/hostile).
//
// | limit          | why this number                                                           |
// |----------------|---------------------------------------------------------------------------|
// | k_answer_bytes | a thousand locks or ten thousand waiters; a library that parses so much   |
// |                | may need eleven times as much memory for small parts                      |
// | k_login_bytes  | a certificate chain has at most 100 KiB, a login without one 5 KiB        |
// | k_turn_bytes   | the clock is read after so many; the slowest parser takes 1 ms for them   |
// | k_late_rounds  | an answer that is there at the limit is worth more than a quick end       |
// | k_elements     | ten thousand rows of ten values, at 80 bytes of memory each               |
// | k_depth        | the deepest answer of any store has eight levels                          |
// | k_unasked      | a message says only that something has changed; one look serves for all   |
// | k_names        | more than a user can read in the output of `dlock list`                   |
// | k_sqlite_bytes | its cache takes 2 MiB; the largest state (4 MiB) is in memory four times  |
// | k_record_bytes | the longest record that dlock writes has 8 KiB                            |
#pragma once

#include <cstddef>

namespace dlock::limits {

// The most bytes received between two of our writes or, without a request, during one wait.
constexpr std::size_t k_answer_bytes = std::size_t{4} << 20;
// The most bytes received until libpq has logged in. The limit is low because for each parameter of
// the server libpq searches all earlier parameters.
constexpr std::size_t k_login_bytes = std::size_t{256} << 10;
// The most bytes that libpq may take between two looks at the clock and the interrupt.
constexpr std::size_t k_turn_bytes = std::size_t{16} << 10;
// The most reads of one call after its limit or its interrupt.
constexpr int k_late_rounds = 8;
// The most rows, values, names or members in one answer, and in one of its arrays.
constexpr std::size_t k_elements = 100'000;
// The deepest nesting of arrays and objects.
constexpr std::size_t k_depth = 32;
// The most messages that a server sends unasked and that are kept until dlock looks at them.
constexpr std::size_t k_unasked = 1000;
// The most names in all answers to one `list`.
constexpr std::size_t k_names = 100'000;
// The most memory that SQLite may use, whatever a file makes it compute.
constexpr long long k_sqlite_bytes = 32LL << 20;
// The most bytes of the record of one hold or waiter.
constexpr std::size_t k_record_bytes = std::size_t{64} << 10;

}  // namespace dlock::limits
