// SPDX-License-Identifier: MIT
// The files of the local store: the file name of a lock, which directories can be trusted, and how
// a file is locked, read and replaced there.
//
// A file name never leaves the directory and never names two locks; symbolic links are not
// followed, nor are devices or pipes opened. A file is replaced as a whole or not at all. Nothing
// here survives a crash of the machine for sure, nor needs to. The content of a file is not
// interpreted here.
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

// The meaning of an errno from such a file.
Errc meaning_of(int number);

// A lock's file name, without its ".lock" or ".json".
std::string file_stem(std::string_view name);

// The lock's name; nullopt: the stem was cut, so only the file's content tells.
std::optional<std::string> name_from_stem(std::string_view stem);

// Opens the directory, after a check of which users may change it, and whether another kernel may
// (Errc::bad_config); made_if_missing makes its last component, mode 0700. Each operation opens it
// anew, so that it notices a replaced directory.
Result<UniqueFd> open_directory(const Place& directory, bool made_if_missing);

// A file of the directory, with the path for messages.
struct FileAt {
  int directory = -1;
  std::string path;  // of the directory
  std::string name;
};

// A flock(2) that its destructor releases explicitly: closing is not enough, as a process forked
// in between has the descriptor too and would keep the lock.
class FileLock {
 public:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  // Whether the file still has that name. Another process may have removed it.
  bool is_current(const FileAt& file) const;

 private:
  UniqueFd fd_;
};

// Locks the file, made if missing; waits in small steps until `limit` or an interrupt.
Result<FileLock> lock_file(const FileAt& file, Time limit, const Interrupt* interrupt);

// nullopt: there is no such file.
Result<std::optional<std::string>> read_file(const FileAt& file);

// Writes a new file aside and renames it over the old one. The caller holds the lock of this file,
// and closes the returned old file after releasing it: freeing its blocks may wait for the disk.
Result<UniqueFd> replace_file(const FileAt& file, std::string_view content);

// Names of the entries that end with `suffix`, without it, in no order.
Result<std::vector<std::string>> entries(const std::string& path, std::string_view suffix);

}  // namespace dlock::local
