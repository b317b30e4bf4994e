// SPDX-License-Identifier: MIT
// What `dlock doctor` says about this machine; it does not depend on the store.
#pragma once

#include "store/doctor/finding.hpp"

#include <string>
#include <vector>

namespace dlock {

struct MachineFacts {
  std::string clock_source;      // name of the kernel's clock source; empty: it cannot be read
  bool can_make_cgroup = false;  // needed by --contain
};
MachineFacts look_at_machine();

std::vector<Finding> judge_machine(const MachineFacts& machine);

}  // namespace dlock
