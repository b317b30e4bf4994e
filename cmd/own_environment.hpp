// SPDX-License-Identifier: MIT
// dlock's own environment variables. To be called before there are other threads.
#pragma once

#include <string>
#include <vector>

namespace dlock {

// Returns all variables as "NAME=value", including hidden ones: the command gets these.
std::vector<std::string> own_environment();

// Removes PG* from this process's environment: libpq would read settings there that the URL does
// not have, such as PGOPTIONS with a search_path to other tables (PostgreSQL manual, "Environment
// Variables"). own_environment() still returns them.
void hide_from_libpq();

}  // namespace dlock
