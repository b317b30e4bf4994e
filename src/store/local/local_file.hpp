// SPDX-License-Identifier: MIT
// The files of the local store: the file name of a lock, which directories are trusted, and how a
// file is locked, read and replaced.
//
// A file name never leads out of the directory, and no two locks share one. Symbolic links are not
// followed; devices and pipes are not opened. A file is replaced as a whole or not at all. Files
// need not survive a crash of the machine. Their content is not interpreted here.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/local/local_url.hpp"
#include "sys/interrupt.hpp"
#include "sys/unique_fd.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock::local {

// Returns the error code for the errno of a call that failed on a file of the store.
Errc meaning_of(int number);

// Returns a lock's file name, without ".lock" or ".json".
std::string file_stem(std::string_view name);

// Returns the name of the lock from its file name. nullopt: the name was too long for a file name,
// which has only its beginning; the whole name is in the file.
std::optional<std::string> name_from_stem(std::string_view stem);

// Opens the directory, after checking which users, and whether another kernel, may change it
// (Errc::bad_config). `made_if_missing`: makes its last component, with mode 0700. Each operation
// opens the directory anew, to notice if it was replaced.
Result<UniqueFd> open_directory(const Place& directory, bool made_if_missing);

// A file in an open directory.
struct FileAt {
  int directory = -1;
  std::string path;  // path of the directory, for messages
  std::string name;
};

// A flock(2), which the destructor releases explicitly. Closing the file is not enough: a process
// forked meanwhile has the descriptor too and would keep the lock.
class FileLock {
 public:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  // Returns whether the locked file still has its name: another process may have removed it.
  bool is_current(const FileAt& file) const;

 private:
  UniqueFd fd_;
};

// Makes the file if it is missing, and locks it; waits in small steps until `limit` or an
// interrupt.
Result<FileLock> lock_file(const FileAt& file, Time limit, const Interrupt* interrupt);

// Returns the content of the file; nullopt: there is no such file.
Result<std::optional<std::string>> read_file(const FileAt& file);

// Writes a new file aside and renames it over the old one. The caller holds the lock of this file,
// and closes the returned old file after releasing it: freeing its blocks may wait for the disk.
Result<UniqueFd> replace_file(const FileAt& file, std::string_view content);

// Returns the names of the entries that end with `suffix`, without the suffix, in no particular
// order.
Result<std::vector<std::string>> entries(const std::string& path, std::string_view suffix);

}  // namespace dlock::local
