// SPDX-License-Identifier: MIT
#include "store/local/sharing.hpp"

#include "base/text.hpp"

#include <array>
#include <cstdio>

namespace dlock::local {

bool is_shared(const struct stat& directory) {
  constexpr ::mode_t k_for_group = S_ISGID | S_IWGRP;
  return (directory.st_mode & k_for_group) == k_for_group;
}

void share_new_file(int file, const struct stat& directory) {
  constexpr ::mode_t k_read_write = 0666;
  if (is_shared(directory)) (void)::fchmod(file, directory.st_mode & k_read_write);
}

Error with_advice(Error error, const std::string& directory) {
  if (error.code != Errc::denied) return error;
  struct stat status {};
  const bool shared = ::stat(directory.c_str(), &status) == 0 && is_shared(status);
  if (shared) {
    const std::string group =
        directory == k_shared_place ? "dlock" : "with the number " + std::to_string(status.st_gid);
    error.text += "; its locks are for the members of group " + group +
                  ": usermod -a -G GROUP USER, and log in again";
  } else {
    error.text += "; several users share the locks of a directory of their group, such as " +
                  std::string(k_shared_place) +
                  " (group dlock); to make one: install -d -m 2770 "
                  "-g GROUP DIRECTORY";
  }
  return error;
}

std::string rights_of(const struct stat& status) {
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777U);
  return "mode " + std::string(mode.data()) + " and belongs to user " +
         std::to_string(status.st_uid);
}

}  // namespace dlock::local
