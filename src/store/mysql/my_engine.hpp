// SPDX-License-Identifier: MIT
// Whether tables of MariaDB or MySQL can keep locks: only InnoDB locks a row until its transaction
// ends. In a table of MyISAM or Aria, both of two transactions find it free. Pure.
#pragma once

#include "store/mysql/my_session.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

// A statement for engine_fault(). `table` is a plain identifier of the session's database.
sql::Statement ask_engine(const std::string& table);
// A statement for table_fault(). It costs the server a table on disk, in which MariaDB gives the
// triggers. MariaDB shows triggers to who may write the table, MySQL to who has the right TRIGGER.
sql::Statement ask_table(const std::string& table);

// Why the table's engine keeps no locks, and how to mend it. A view and a missing table are good.
std::optional<std::string> engine_fault(const sql::Answer& answer);
// The same, or a trigger, which could change a lock or the session.
std::optional<std::string> table_fault(const sql::Answer& answer);

}  // namespace dlock
