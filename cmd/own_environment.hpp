// SPDX-License-Identifier: MIT
// dlock's own environment variables. These functions must be called before another thread starts.
#pragma once

#include <string>
#include <vector>

namespace dlock {

// Returns all variables as "NAME=value", including those that hide_from_libpq() has removed. The
// command gets all of them.
std::vector<std::string> own_environment();

// Returns the words that make the user's shell run `command`. The shell is $SHELL, but /bin/sh if
// SHELL is not set or is a shell that runs nothing (nologin, false). Service accounts have such a
// login shell, and sudo -u and systemd pass it on in SHELL.
std::vector<std::string> shell_words(const std::string& command);

// Removes the PG* variables from this process's environment: libpq would take settings from these
// variables that the URL does not have, such as PGOPTIONS with a search_path to other tables
// (PostgreSQL manual, "Environment Variables"). own_environment() still returns them.
void hide_from_libpq();

}  // namespace dlock
