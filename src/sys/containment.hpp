// SPDX-License-Identifier: MIT
// Containment: a cgroup (v2) of its own for the command, where this machine lets us make one beside
// ours. All of it can be killed by one write, by us or by the guard, whatever groups and sessions
// its processes have made for themselves (cgroups(7), cgroup.kill, Linux >= 5.14). Without one
// nothing here does anything, and Child still finds descendants by their parents.
#pragma once

#include "sys/unique_fd.hpp"

#include <sys/types.h>

#include <string>

namespace dlock {

class Containment {
 public:
  // `wanted` false, no cgroup v2, or no right to make one: has_cgroup() is false.
  static Containment make(bool wanted);

  bool has_cgroup() const { return static_cast<bool>(kill_); }
  // The command enters between fork and exec by writing "0" here (cgroups(7)); -1: none.
  int entry() const { return entry_.get(); }
  // "1" written here kills all that are in it; -1: none.
  int kill_switch() const { return kill_.get(); }
  bool has(pid_t pid) const;  // it runs in our cgroup, or in one below that

  void kill_all() const;
  void remove();  // when it is empty; else it stays

 private:
  Containment() = default;
  std::string path_;
  std::string place_;  // its name in /proc/[pid]/cgroup
  UniqueFd entry_;
  UniqueFd kill_;
};

}  // namespace dlock
