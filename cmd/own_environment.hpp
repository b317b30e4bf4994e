// SPDX-License-Identifier: MIT
// dlock's own environment variables. Called before there are other threads.
#pragma once

#include <string>
#include <vector>

namespace dlock {

// All variables, as "NAME=value": the command gets these.
std::vector<std::string> own_environment();

// Removes PG* from this process: libpq would read settings there that the URL does not have, such
// as PGOPTIONS with the search_path of other tables (PostgreSQL manual, "Environment Variables").
void hide_from_libpq();

}  // namespace dlock
