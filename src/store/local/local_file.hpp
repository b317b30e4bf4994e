// SPDX-License-Identifier: MIT
// The files of LocalStore: which name the file of a lock has, which directories are trusted, and
// how a file is locked, read and replaced.
//
// A file's name never leads out of the directory, and no two locks have one file. Symbolic links
// are not followed; devices and pipes are not opened. A file is replaced as a whole or not at all.
// A file need not survive a crash of the machine. What a file contains does not matter here.
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

// Returns the error code for an errno, after a call that failed on a file of the store.
Errc meaning_of(int number);

// Returns the name of a lock's file, without ".lock" or ".json" (base/file_stem.hpp). If two long
// names have one hash, that is only inconvenient: the file contains the name of its lock, and the
// store compares that name, so two names never share a lock.
std::string file_stem(std::string_view name);

// Opens the directory. Before, checks which users may change it (Errc::denied), and whether another
// kernel may (Errc::bad_config). `made_if_missing`: makes the directory, with mode 0700, if only
// its last component does not exist. Each operation opens the directory anew, so that it notices if
// the directory was replaced.
Result<UniqueFd> open_directory(const Place& directory, bool made_if_missing);

// A file in a directory that is open.
struct FileAt {
  int directory = -1;
  std::string path;  // path of the directory, for messages
  std::string name;
};

// A flock(2) of a file. The destructor releases it explicitly: closing the file is not enough,
// because a process that was forked meanwhile has the descriptor, too, and would keep the lock.
class FileLock {
 public:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  // Returns whether the locked file is still the one at its path: another process may have removed
  // it.
  bool is_current(const FileAt& file) const;

 private:
  UniqueFd fd_;
};

// Makes the file if it does not exist, and takes its flock(2). Tries again and again until `limit`
// or an interrupt.
Result<FileLock> lock_file(const FileAt& file, Time limit, const Interrupt* interrupt);

// Returns the content of the file; nullopt: the file does not exist.
Result<std::optional<std::string>> read_file(const FileAt& file);

// Writes a new file beside the old one, and renames it over the old one. The caller must have the
// file lock. Returns the old file, still open. The caller closes it after the file lock is
// released, because closing frees the file's blocks, which may wait for the disk.
Result<UniqueFd> replace_file(const FileAt& file, std::string_view content);

// Returns the names of the entries of the directory that end with `suffix`, without the suffix, in
// no particular order.
Result<std::vector<std::string>> entries(const std::string& path, std::string_view suffix);

}  // namespace dlock::local
