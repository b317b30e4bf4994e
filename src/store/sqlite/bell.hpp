// SPDX-License-Identifier: MIT
// Bells: how one waiter of many is woken. A release changes the time of the database file, and
// everybody who watches that file looks at the rows. With a hundred waiters, these looks would
// delay the next holder. So a waiter that has come behind others watches a file of its own instead:
// its bell, "<database>-bell-<id>". The process that takes a waiter out of the line removes its
// bell.
//
// A bell rings when the turn of its waiter begins, and for nothing else. So the waiter need not
// look: it tries at once. The next in line hears nothing. What ends the turn, a grant or the leave
// of the waiter, rings for the next one if there is room for it.
//
// An older dlock, or one without a right to the directory, rings no bell. Then the waiter sees half
// a second later that the time of the database file has changed. So the second waiter also knows
// when the turn of the first one ends, which may be dead.
#pragma once

#include "base/result.hpp"
#include "sys/file_events.hpp"

#include <string>

namespace dlock {

// Returns the path of the bell of the waiter with this id.
std::string bell_of(const std::string& database, const std::string& id);
// Makes the bell, which may exist, and watches it.
Result<FileEvents> make_bell(const std::string& bell);
bool has_bell(const std::string& bell);
// Wakes the waiter if it has the bell.
void ring(const std::string& bell);

}  // namespace dlock
