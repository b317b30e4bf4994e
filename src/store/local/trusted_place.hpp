// SPDX-License-Identifier: MIT
// Who may change a place of locks. A lock holds only if no other user can put another file or
// directory in its place: so each directory on the way there, and each link, has to belong to root
// or to us, and none may be writable by every user. A group that may write was given that right by
// root or by us, and is trusted. A path that passed this check can be looked up again.
#pragma once

#include "base/result.hpp"

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dlock::local {

// A directory or a symbolic link.
struct Step {
  std::string path;  // without links before its last component
  struct stat status;
  bool after_open_one = false;  // in a directory where every user may create files
};

// The way from "/", as the kernel goes; it ends early if a component is missing or closed to us:
// opening the path will then fail.
struct Way {
  std::vector<Step> steps;
  std::size_t end = 0;  // index of the directory it leads to: the path, or the path's directory
  bool to_directory = false;  // the path is a directory
};
Way way_to(const std::string& path);

// "belongs to user 1002, neither root nor you": why others than root, we and our group may change
// it. `keeps_locks`: the place itself, where a sticky bit is not enough, since the first user to
// come would own a lock's files.
std::optional<std::string> fault_of(const Step& step, bool keeps_locks);

// Checks the directory that keeps the locks, and all above it. If the path is not a directory (a
// database, or a directory to be made), its parent keeps the locks if `is_file`; otherwise the
// parent is only above them. Errc::denied, with advice.
Result<void> check_place(const std::string& path, bool is_file);
std::string place_for_locks();  // "use …", for errors

// Why others may change a file that was opened in such a place: it must be a regular file of
// root's, ours, or of the group that may write `directory`, and not writable by every user.
std::optional<std::string> fault_of_file(const struct stat& file, const std::string& directory);

// Errc::denied, with advice.
Error untrusted_file(const std::string& path, const std::string& fault);

}  // namespace dlock::local
