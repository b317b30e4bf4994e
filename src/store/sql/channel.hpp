// SPDX-License-Identifier: MIT
// The name under which a database server knows one waiter or holder: the channel of its
// notifications in PostgreSQL, its bell in MariaDB. Pure.
#pragma once

#include <string>

namespace dlock::sql {

// Returns "dlock_" and a hash of the id, 22 characters, because an id is longer than such a name
// may be (63 bytes in PostgreSQL, 64 characters in MySQL). If two ids share a name, each waiter is
// sometimes woken for nothing, which does no harm.
std::string channel_of(const std::string& id);

}  // namespace dlock::sql
