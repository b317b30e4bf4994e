// SPDX-License-Identifier: MIT
// How several users of a machine share locks in files: in a directory that a group may write and
// that has the setgid bit, as the packages make /var/lib/dlock. New files belong to the whole
// group, whatever the umask.
#pragma once

#include "base/result.hpp"

#include <sys/stat.h>

#include <string>

namespace dlock::local {

// The shared directory that the packages make.
inline constexpr const char* k_shared_place = "/var/lib/dlock";

bool is_shared(const struct stat& directory);

// Gives a new file in a shared directory the rights of the directory. Reports no error: if the file
// may not be used, opening it will fail.
void share_new_file(int file, const struct stat& directory);

// Returns the error. If it is a missing right, adds advice on how several users can share
// `directory`.
Error with_advice(Error error, const std::string& directory);

// Returns a text like "mode 0700 and belongs to user 0".
std::string rights_of(const struct stat& status);

}  // namespace dlock::local
