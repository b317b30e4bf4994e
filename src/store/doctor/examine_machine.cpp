// SPDX-License-Identifier: MIT
#include "store/doctor/examine_machine.hpp"

#include "base/text.hpp"
#include "sys/containment.hpp"

#include <fstream>

namespace dlock {

namespace {

constexpr const char* k_clock_source =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";

Finding judge_clock_source(const std::string& source) {
  if (source.empty()) return not_seen(std::string(k_clock_source) + " is not readable");
  if (source == "jiffies" || source == "refined-jiffies") {
    return warning("the clock source is " + source,
                   "this machine's clock may run at another rate than the server's",
                   "boot with a better clocksource= (tsc, kvm-clock, hpet)");
  }
  return good("the clock source is " + printable(source));
}

}  // namespace

MachineFacts look_at_machine() {
  MachineFacts machine;
  std::ifstream(k_clock_source) >> machine.clock_source;
  Containment group = Containment::make(/*wanted=*/true);
  machine.can_make_cgroup = group.has_cgroup();
  group.remove();
  return machine;
}

std::vector<Finding> judge_machine(const MachineFacts& machine) {
  std::vector<Finding> all{judge_clock_source(machine.clock_source)};
  all.push_back(machine.can_make_cgroup
                    ? good("--contain has a cgroup of its own")
                    : info("there is no right to make a cgroup",
                           "--contain finds descendants by their parents only"));
  for (Finding& one : all) {
    one.id = "local";
    one.server = "this machine";
  }
  return all;
}

}  // namespace dlock
