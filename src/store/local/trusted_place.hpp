// SPDX-License-Identifier: MIT
// Checks which users may change the place where locks are kept. A lock is reliable only if no other
// user can replace its file or directory. So each directory and each symbolic link on the path must
// belong to root or to us, and must not be writable for every user. A group that may write is
// trusted, because it got that right from root or from us. A path that has passed this check may be
// used again later.
#pragma once

#include "base/result.hpp"

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dlock::local {

// A directory or a symbolic link on the way to a path.
struct Step {
  std::string path;  // no component before the last one is a link
  struct stat status;
  // The directory or link is in a directory in which every user may create files.
  bool after_open_one = false;
};

// The directories and links through which the kernel goes from "/" to a path. The list is shorter
// if a component does not exist or may not be entered; then opening the path fails.
struct Way {
  std::vector<Step> steps;
  // Index of the last directory: that is the path itself, or the directory that contains it.
  std::size_t end = 0;
  bool to_directory = false;  // the path is a directory
};
Way way_to(const std::string& path);

// Returns why a user other than root, us and the members of our group may change this directory or
// link: "belongs to user 1002, neither root nor you". nullopt: no such user may change it.
// `keeps_locks`: the locks are directly in this directory. Then a sticky bit does not help: the
// first user who creates the files of a lock would own them.
std::optional<std::string> fault_of(const Step& step, bool keeps_locks);

// Checks the directory that contains the locks, and all directories above it. If `is_file`, the
// path is that of a database, and its parent contains the locks. Otherwise the path is that of the
// directory, which need not exist yet. Errc::denied, with advice.
Result<void> check_place(const std::string& path, bool is_file);
std::string place_for_locks();  // advice for errors: "use …"

// Returns why another user may change an opened file whose path has passed check_place(); nullopt:
// no other user may. The file must be a regular file, and not every user may write it. It must
// belong to root, to us, or to the group that may write `directory`.
std::optional<std::string> fault_of_file(const struct stat& file, const std::string& directory);

// Returns the error for a file in which fault_of_file() has found `fault`: Errc::denied, with
// advice.
Error untrusted_file(const std::string& path, const std::string& fault);

}  // namespace dlock::local
