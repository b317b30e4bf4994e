// SPDX-License-Identifier: MIT
// Whether tables of MariaDB or MySQL can keep locks: only InnoDB locks a row until its transaction
// ends. In a table of MyISAM or Aria, both of two transactions find it free. Pure.
#pragma once

#include "store/mysql/my_session.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

// A statement for engine_fault(). The names are plain identifiers of the session's database.
std::string ask_engines(const std::vector<std::string>& tables);

// What is wrong with a table, and how to mend it. Views and missing tables count as good.
std::optional<std::string> engine_fault(const MyRows& answer);

// A statement for trigger_fault(): MariaDB shows triggers to who may
// write the table, MySQL to who has the right TRIGGER.
std::string ask_triggers(const std::vector<std::string>& tables);
// A trigger of these tables, which could change a lock or the session, and how to mend it.
std::optional<std::string> trigger_fault(const MyRows& answer);

}  // namespace dlock
