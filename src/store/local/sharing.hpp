// SPDX-License-Identifier: MIT
// How several users of a machine share locks in files. They use a directory that their group may
// write and that has the setgid bit, such as /var/lib/dlock, which the packages make. The whole
// group may use each new file there, whatever the umask is.
#pragma once

#include "base/result.hpp"

#include <sys/stat.h>

#include <string>

namespace dlock::local {

// The shared directory that dlock's packages make.
inline constexpr const char* k_shared_place = "/var/lib/dlock";

bool is_shared(const struct stat& directory);

// Gives the group the right to a new file if its directory is shared. Reports no error: if the file
// cannot be used, opening it will fail.
void share_new_file(int file, const struct stat& directory);

// Returns `error`. If its cause is a missing right, adds advice how several users can share the
// directory.
Error with_advice(Error error, const std::string& directory);

// Returns a text such as "mode 0700 and belongs to user 0".
std::string rights_of(const struct stat& status);

}  // namespace dlock::local
