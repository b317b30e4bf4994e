// SPDX-License-Identifier: MIT
// Finds out whether a table of MariaDB or MySQL can keep locks. Only tables of InnoDB can, which
// locks a row until the transaction ends: in a table of MyISAM or Aria, two transactions can both
// find the lock free. Pure.
#pragma once

#include "store/mysql/my_session.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

// Returns the statement whose answer engine_fault() reads. `table`: a plain identifier in the
// database of the session.
sql::Statement ask_engine(const std::string& table);
// Returns the statement whose answer table_fault() reads. The server needs a temporary table on
// disk for it. MariaDB shows triggers to users who may write to the table, MySQL to users who have
// the right TRIGGER.
sql::Statement ask_table(const std::string& table);

// Returns why the engine of the table cannot lock rows, and how to change it. nullopt: it can, or
// there is no such table, or it is a view.
std::optional<std::string> engine_fault(const sql::Answer& answer);
// Returns that the table has a trigger, which could change a lock or the session; otherwise
// engine_fault().
std::optional<std::string> table_fault(const sql::Answer& answer);

}  // namespace dlock
