// SPDX-License-Identifier: MIT
#include "store/local/trusted_place.hpp"

#include "base/text.hpp"
#include "store/local/sharing.hpp"
#include "sys/process_table.hpp"

#include <climits>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <sstream>

namespace dlock::local {

namespace {

constexpr int k_most_links = 40;  // the kernel's own limit

// Returns whether this user namespace (a container) does not map the user. All users of the host
// that it does not map look like one user here.
bool is_unmapped(::uid_t user) {
  std::istringstream map(read_process_file("self/uid_map").value_or("0 0 4294967295"));
  unsigned long long inside = 0;
  unsigned long long outside = 0;
  unsigned long long count = 0;
  while (map >> inside >> outside >> count)
    if (user >= inside && user - inside < count) return false;
  return true;
}

bool is_root_or_us(::uid_t user) {
  return user == 0 || user == ::geteuid();
}

// Returns whether the owner of this directory or link can be trusted: root, this process's user, or
// an unmapped user, who may be the host's root. In a directory like /tmp, an unmapped owner may be
// any user of the host, and is not trusted.
bool has_trusted_owner(const Step& step) {
  const ::uid_t user = step.status.st_uid;
  return is_root_or_us(user) || (!step.after_open_one && is_unmapped(user));
}

std::string of_another(::uid_t user) {
  return "belongs to user " + std::to_string(user) + ", neither root nor you";
}

bool is_open(const struct stat& directory) {
  return (directory.st_mode & S_IWOTH) != 0;
}

// Puts the components of `path` in front of the components that are still to be walked.
void put_before(std::deque<std::string>& left, const std::string& path) {
  std::deque<std::string> names;
  for (const auto& name : std::filesystem::path(path).relative_path())
    names.push_back(name.string());
  left.insert(left.begin(), names.begin(), names.end());
}

std::optional<std::string> target_of(const std::string& link) {
  std::array<char, PATH_MAX> space{};
  const ::ssize_t size = ::readlink(link.c_str(), space.data(), space.size());
  if (size <= 0 || static_cast<std::size_t>(size) == space.size()) return std::nullopt;
  return std::string(space.data(), static_cast<std::size_t>(size));
}

// Walks along a path from "/", one component after the other, and follows symbolic links.
class Walk {
 public:
  explicit Walk(const std::string& path) { put_before(left_, path); }

  Way run() {
    way_.to_directory = enter("/") && go();
    return std::move(way_);
  }

 private:
  // Walks to the end of the path. Returns false if a component does not exist, may not be entered,
  // or is no directory.
  bool go() {
    for (int links = 0; !left_.empty();) {
      const std::string name = left_.front();
      left_.pop_front();
      if (name.empty() || name == ".") continue;
      if (name == "..") {  // only a link contains ".."; the directory above has been checked before
        turn_to(std::filesystem::path(at_).parent_path().string());
        continue;
      }
      const std::string next = at_ == "/" ? at_ + name : at_ + '/' + name;
      if (!enter(next)) return false;
      if (S_ISDIR(way_.steps.back().status.st_mode)) continue;
      const auto target = target_of(next);
      if (!target || ++links > k_most_links) return false;
      if (target->starts_with('/')) turn_to("/");
      put_before(left_, *target);
    }
    return true;
  }

  bool enter(const std::string& next) {
    Step step{.path = next, .status = {}, .after_open_one = false};
    if (!way_.steps.empty()) step.after_open_one = is_open(way_.steps[way_.end].status);
    if (::lstat(next.c_str(), &step.status) != 0) return false;
    const bool is_directory = S_ISDIR(step.status.st_mode);
    if (!is_directory && !S_ISLNK(step.status.st_mode)) return false;
    way_.steps.push_back(std::move(step));
    if (is_directory) turn_to(next);
    return true;
  }

  void turn_to(const std::string& directory) {
    at_ = directory;
    for (std::size_t i = 0; i < way_.steps.size(); ++i)
      if (way_.steps[i].path == at_) way_.end = i;
  }

  Way way_;
  std::deque<std::string> left_;
  std::string at_;
};

}  // namespace

Way way_to(const std::string& path) {
  return Walk(path).run();
}

std::optional<std::string> fault_of(const Step& step, bool keeps_locks) {
  if (!has_trusted_owner(step)) return of_another(step.status.st_uid);
  if (S_ISLNK(step.status.st_mode) || !is_open(step.status)) return std::nullopt;
  if (keeps_locks) return "is for every user to make files in";
  if ((step.status.st_mode & S_ISVTX) != 0) return std::nullopt;
  return "is for every user to change (chmod o-w)";
}

Result<void> check_place(const std::string& path, bool is_file) {
  const Way way = way_to(path);
  for (std::size_t i = 0; i < way.steps.size(); ++i) {
    const Step& step = way.steps[i];
    const auto fault = fault_of(step, i == way.end && way.to_directory != is_file);
    if (!fault) continue;
    const std::string what = step.path == path ? "it " : printable(step.path) + ' ';
    return Error{Errc::denied,
                 "cannot keep locks in " + printable(path) + ": " + what + *fault + "; " +
                     place_for_locks()};
  }
  return {};
}

std::string place_for_locks() {
  return std::string("use a directory of your own, or ") + k_shared_place +
         " (group dlock), or make one for a group: install -d -m 2770 -o root -g GROUP DIRECTORY";
}

std::optional<std::string> fault_of_file(const struct stat& file, const std::string& directory) {
  if (!S_ISREG(file.st_mode)) return "is no regular file";
  const bool all_write = (file.st_mode & S_IWOTH) != 0;
  if (is_root_or_us(file.st_uid) && !all_write) return std::nullopt;
  struct stat place {};
  if (::stat(directory.c_str(), &place) != 0) return "is in no directory";
  if (all_write && (place.st_mode & S_IXOTH) != 0) return "is for every user to write (chmod o-w)";
  const bool of_group = (place.st_mode & S_IWGRP) != 0 && file.st_gid == place.st_gid;
  if (of_group || is_root_or_us(file.st_uid)) return std::nullopt;
  return of_another(file.st_uid) + " nor of the group of its directory (chown root)";
}

Error untrusted_file(const std::string& path, const std::string& fault) {
  return {Errc::denied,
          "cannot use " + printable(path) + ": it " + fault + "; remove it if no job uses it"};
}

}  // namespace dlock::local
