// SPDX-License-Identifier: MIT
// The variables that dlock was called with. Before there are other threads.
#pragma once

#include <string>
#include <vector>

namespace dlock {

// All of them, "NAME=value": the command gets these.
std::vector<std::string> own_environment();

// Takes PG* out of this process: libpq would read settings there that the URL does not say, as
// PGOPTIONS with the search_path of other tables (PostgreSQL manual, "Environment Variables").
void hide_from_libpq();

}  // namespace dlock
