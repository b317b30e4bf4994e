// SPDX-License-Identifier: MIT
#include "store/doctor/identity.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "sys/boot.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dlock {

void Identity::add(std::string name, std::string value, const std::string& otherwise) {
  if (value.empty()) {
    unseen = otherwise;
  } else {
    parts.push_back({std::move(name), std::move(value)});
  }
}

std::string digest_of(const Identity& identity) {
  if (!identity.unseen.empty()) return "";
  std::vector<std::string> lines;
  for (const Identity::Part& part : identity.parts)
    lines.push_back(part.name + '\0' + part.value + '\0');
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines)
    all += line;
  return hash_of(all).substr(0, 12);
}

Identity identity_of_file(const std::string& path) {
  struct stat file {};
  struct statvfs mount {};
  if (::stat(path.c_str(), &file) != 0 || ::statvfs(path.c_str(), &mount) != 0)
    return {.unseen = path + ": " + errno_text(errno)};
  Identity identity{.unseen = ""};
  const auto boot = this_boot();
  identity.add("boot", boot ? boot->id : "", "this container does not see the boot_id of its host");
  identity.add("file system", std::to_string(mount.f_fsid), "");
  identity.add("device", std::to_string(file.st_dev), "");
  identity.add("inode", std::to_string(file.st_ino), "");
  return identity;
}

}  // namespace dlock
