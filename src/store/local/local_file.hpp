// SPDX-License-Identifier: MIT
// The files of the local store: what a lock name is called in the directory, which directories can
// be trusted, and how a file is locked, read and replaced there.
//
// A file name never leaves the directory and never names two locks; symbolic links are not
// followed, nor are devices or pipes opened. A file is replaced as a whole or not at all. Nothing
// here survives a crash of the machine for sure, nor needs to. It does not know what is in a file.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/unique_fd.hpp"
#include "sys/wake_up.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::local {

// The file name, without its ".lock" or ".json", of a lock name.
std::string file_stem(std::string_view name);

// Back to the lock name; nullopt for a stem that was cut: then only the file's content tells.
std::optional<std::string> name_from_stem(std::string_view stem);

// Opens the directory, after a look at who else may change it; made_if_missing makes its last
// component, mode 0700. Each operation opens it anew, so that it notices a replaced directory.
Result<UniqueFd> open_directory(const std::string& path, bool made_if_missing);

// A file of the directory, with the path for messages.
struct FileAt {
  int directory = -1;
  std::string path;  // of the directory
  std::string name;
};

// Locks the file by flock(2), made if missing; waits in small steps until `limit` or an interrupt.
Result<UniqueFd> lock_file(const FileAt& file, Time limit, const WakeUp* interrupt);

// Is this descriptor still what stands under the name? Somebody may have removed the file.
bool is_current(const FileAt& file, const UniqueFd& fd);

// nullopt: there is no such file.
Result<std::optional<std::string>> read_file(const FileAt& file);

// Written aside and renamed over the old one. The caller holds the lock of this file.
Result<void> replace_file(const FileAt& file, std::string_view content);

// Names of the entries that end with `suffix`, without it, in no order.
Result<std::vector<std::string>> entries(const std::string& path, std::string_view suffix);

}  // namespace dlock::local
