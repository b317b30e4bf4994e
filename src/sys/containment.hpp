// SPDX-License-Identifier: MIT
// Containment: a cgroup (v2) for the command alone, if we have the right to make one beside our
// own. One write by dlock or the guard kills all its processes, whatever groups and sessions they
// have made (cgroups(7), cgroup.kill, Linux 5.14 and newer). Without a cgroup these functions do
// nothing, and Child still finds descendants by their parents.
#pragma once

#include "sys/unique_fd.hpp"

#include <sys/types.h>

#include <string>

namespace dlock {

class Containment {
 public:
  // Makes the cgroup if `wanted`. has_cgroup() is false if there is no cgroup v2 or no right to
  // make one.
  static Containment make(bool wanted);

  bool has_cgroup() const { return static_cast<bool>(kill_); }
  // The command enters the cgroup between fork and exec by writing "0" here; -1: no cgroup.
  int entry() const { return entry_.get(); }
  // Writing "1" here kills all processes in the cgroup; -1: no cgroup.
  int kill_switch() const { return kill_.get(); }
  bool has(pid_t pid) const;  // the process is in this cgroup, or in one inside it

  void kill_all() const;
  void remove();  // removes the cgroup if it is empty

 private:
  Containment() = default;
  std::string path_;
  std::string place_;  // the cgroup's path in /proc/[pid]/cgroup
  UniqueFd entry_;
  UniqueFd kill_;
};

}  // namespace dlock
