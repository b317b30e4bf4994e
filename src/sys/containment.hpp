// SPDX-License-Identifier: MIT
// Containment: a cgroup (v2) for the command alone, if this machine lets us make one beside ours.
// One write by us or the guard kills all its processes, whatever groups and sessions they have made
// for themselves (cgroups(7), cgroup.kill, Linux >= 5.14). Without a cgroup these calls do nothing,
// and Child still finds descendants by their parents.
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
  // The command enters between fork and exec by writing "0" here (cgroups(7)); -1: no cgroup.
  int entry() const { return entry_.get(); }
  // Writing "1" here kills all processes in the cgroup; -1: no cgroup.
  int kill_switch() const { return kill_.get(); }
  bool has(pid_t pid) const;  // it runs in our cgroup, or below it

  void kill_all() const;
  void remove();  // if it is empty; otherwise it stays

 private:
  Containment() = default;
  std::string path_;
  std::string place_;  // its name in /proc/[pid]/cgroup
  UniqueFd entry_;
  UniqueFd kill_;
};

}  // namespace dlock
