// SPDX-License-Identifier: MIT
// Who may change a place of locks. A lock holds only as long as nobody else can put another file or
// directory in its place: so each directory on the way there, and each link, has to belong to root
// or to us, and none may be for every user to write. A group that may write was given that right by
// root or by us, and is trusted. What a check like this has passed can be looked up again by path.
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
  bool after_open_one = false;  // in a directory where every user may make files
};

// From "/" on, as the kernel goes; it ends early where something is missing or closed to us, which
// opening the path will say.
struct Way {
  std::vector<Step> steps;
  std::size_t end = 0;        // the directory that it leads to: the path, or what the path is in
  bool to_directory = false;  // the path is a directory
};
Way way_to(const std::string& path);

// "belongs to user 1002, neither root nor you": why others than root, we and our group may change
// it. `keeps_locks`: the place itself, where a sticky bit is not enough, as the first to come would
// own the files of a lock.
std::optional<std::string> fault_of(const Step& step, bool keeps_locks);

// The directory that keeps the locks, and all above it. Of a path that is no directory, as that of
// a database or of a directory that is still to be made, the one that it is in keeps them if
// `is_file`, and is only above it if not. Errc::denied, with what to do.
Result<void> check_place(const std::string& path, bool is_file);
std::string place_for_locks();  // "use …", for errors

// The same of a file that was opened in such a place: a regular one of root's, ours, or of the
// group that may write `directory`, and none that every user can write.
std::optional<std::string> fault_of_file(const struct stat& file, const std::string& directory);

// Errc::denied, with what to do.
Error untrusted_file(const std::string& path, const std::string& fault);

}  // namespace dlock::local
