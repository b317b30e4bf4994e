// SPDX-License-Identifier: MIT
// Finds out whether a table of MariaDB or MySQL can keep locks. Only a table of the engine InnoDB
// can, because InnoDB locks a row until the transaction ends. In a table of MyISAM or Aria, two
// transactions at once can both find the lock free. Pure.
#pragma once

#include "store/mysql/my_session.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

// Returns a statement that asks for the engine of a table; engine_fault() reads the answer. `table`
// is a plain identifier in the session's database.
sql::Statement ask_engine(const std::string& table);
// Returns a statement that asks for the engine and the triggers of a table; table_fault() reads the
// answer. To answer it, the server writes a temporary table to disk. MariaDB shows triggers to
// users who may write to the table, MySQL only to users who have the right TRIGGER.
sql::Statement ask_table(const std::string& table);

// Returns why the table's engine cannot lock rows, with advice how to change the engine. nullopt:
// the engine can lock rows, or the table does not exist, or the table is a view.
std::optional<std::string> engine_fault(const sql::Answer& answer);
// Returns a text that says that the table has a trigger, which could change a lock or the session.
// If it has no trigger, returns engine_fault().
std::optional<std::string> table_fault(const sql::Answer& answer);

}  // namespace dlock
