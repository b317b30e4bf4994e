// SPDX-License-Identifier: MIT
// How several users of a machine share locks in files: in a directory that a group may write, with
// the setgid bit, as the packages make /var/lib/dlock. New files belong to the whole group,
// whatever the umask.
#pragma once

#include "base/result.hpp"

#include <sys/stat.h>

#include <string>

namespace dlock::local {

// The shared directory that the packages make.
inline constexpr const char* k_shared_place = "/var/lib/dlock";

bool is_shared(const struct stat& directory);

// Gives a new file in a shared directory the rights of the directory. Reports no error: a user who
// may not use the file learns it then.
void share_new_file(int file, const struct stat& directory);

// Adds advice to the error if a right was missing: how several users can share `directory`.
Error with_advice(Error error, const std::string& directory);

// "mode 0700 and belongs to user 0"
std::string rights_of(const struct stat& status);

}  // namespace dlock::local
