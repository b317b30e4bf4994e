// SPDX-License-Identifier: MIT
// Which users may change a place of locks. A lock is reliable only if no other user can replace its
// file or directory. So each directory and each link on the way there must belong to root or to us,
// and must not be writable by every user. A group that may write got that right from root or from
// us, and is trusted. A path that has passed this check can be looked up again.
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
  std::string path;  // has no links before its last component
  struct stat status;
  bool after_open_one = false;  // the step is in a directory in which every user may create files
};

// The steps that the kernel takes from "/" to a path. They end early if a component is missing or
// may not be entered; opening the path will fail then.
struct Way {
  std::vector<Step> steps;
  // Index of the directory at the end: the path itself, or the path's directory.
  std::size_t end = 0;
  bool to_directory = false;  // the path is a directory
};
Way way_to(const std::string& path);

// Returns why users other than root, us and our group may change the step, as in "belongs to user
// 1002, neither root nor you"; nullopt: they may not. `keeps_locks`: the step is the place of the
// locks itself. There a sticky bit is not enough, because the first user to come would own a lock's
// files.
std::optional<std::string> fault_of(const Step& step, bool keeps_locks);

// Checks the directory that contains the locks, and all above it. If the path is no directory, then
// its parent contains the locks if `is_file` (a database); otherwise (a directory still to be made)
// the parent is only above them. Errc::denied, with advice.
Result<void> check_place(const std::string& path, bool is_file);
std::string place_for_locks();  // advice for errors: "use …"

// Returns why other users may change a file that was opened in a place that passed check_place();
// nullopt: they may not. The file must be a regular file that belongs to root, to us, or to the
// group that may write `directory`, and that not every user may write.
std::optional<std::string> fault_of_file(const struct stat& file, const std::string& directory);

// Returns Errc::denied, with advice.
Error untrusted_file(const std::string& path, const std::string& fault);

}  // namespace dlock::local
