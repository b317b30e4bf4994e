// SPDX-License-Identifier: MIT
// Whether tables of MariaDB or MySQL can keep locks: only InnoDB locks a row until its transaction
// ends. In a table of MyISAM or Aria each of two transactions finds it free. Pure.
#pragma once

#include "store/mysql/my_session.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

// A statement for engine_fault(). The names are plain identifiers of the session's database.
std::string ask_engines(const std::vector<std::string>& tables);

// What is wrong with one of them, and how to mend it. Views are taken for good, and so is a table
// that is not there.
std::optional<std::string> engine_fault(const MyRows& answer);

}  // namespace dlock
