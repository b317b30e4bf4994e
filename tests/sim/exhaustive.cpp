// SPDX-License-Identifier: MIT
#include "sim/exhaustive.hpp"
namespace dlock::sim {
bool search_all_schedules() {
  return true;
}
}  // namespace dlock::sim
