// SPDX-License-Identifier: MIT
// When a claim may free the lock of a holder on its machine: each sign of life is enough to leave
// it.
#include "core/dead_holder.hpp"

#include <doctest/doctest.h>

#include <set>

namespace dlock {

namespace {

HoldRecord run_of(long dlock, long guard, long group) {
  HoldRecord hold{.id = "u:1#s"};
  hold.who = {
      .host = "ci-4", .pid = dlock, .machine = "boot pid:[1]", .guard = guard, .group = group};
  return hold;
}

// A machine with these processes, these groups and these holds in the environment of a process.
Witness ci_4(std::set<long> pids = {},
             std::set<long> groups = {},
             std::set<std::string> carried = {}) {
  return {.host = "ci-4",
          .machine = "boot pid:[1]",
          .user = "",
          .is_gone = [pids](long pid) { return !pids.contains(pid); },
          .is_empty_group = [groups](long group) { return !groups.contains(group); },
          .is_carried_by_none =
              [carried](const HoldRecord& hold) { return !carried.contains(hold.id); }};
}

}  // namespace

TEST_CASE("dead holder: dlock, guard, command and group are gone: dead") {
  CHECK(is_dead(run_of(10, 11, 12), ci_4()));
  CHECK(is_dead(run_of(10, 11, 12), ci_4({13}, {13}, {"u:2#s"})));
}

TEST_CASE("dead holder: each process that lives, or may, keeps the lock") {
  CHECK_FALSE(is_dead(run_of(10, 11, 12), ci_4({10})));
  CHECK_FALSE(is_dead(run_of(10, 11, 12), ci_4({11})));
  CHECK_FALSE(is_dead(run_of(10, 11, 12), ci_4({12})));  // it has left its group
  CHECK_FALSE(is_dead(run_of(10, 11, 12), ci_4({}, {12})));
  CHECK_FALSE(is_dead(run_of(10, 11, 12), ci_4({}, {}, {"u:1#s"})));
}

TEST_CASE("dead holder: of another or an unknown machine nothing is known") {
  Witness here = ci_4();
  here.machine = "boot pid:[2]";
  CHECK_FALSE(is_dead(run_of(10, 11, 12), here));
  here.machine = "";
  CHECK_FALSE(is_dead(run_of(10, 11, 12), here));
  HoldRecord unknown = run_of(10, 11, 12);
  unknown.who.machine = "";
  CHECK_FALSE(is_dead(unknown, here));
  // A copy of a running machine has its boot id, but not its processes.
  Witness copy = ci_4();
  copy.host = "ci-5";
  CHECK_FALSE(is_dead(run_of(10, 11, 12), copy));
}

TEST_CASE("dead holder: of another user's processes only root knows enough") {
  HoldRecord hold = run_of(10, 11, 12);
  hold.who.user = "deploy";
  Witness here = ci_4();
  CHECK(is_dead(hold, here));
  here.user = "deploy";
  CHECK(is_dead(hold, here));
  here.user = "alice";
  CHECK_FALSE(is_dead(hold, here));
}

TEST_CASE("dead holder: a record without all of its processes, and a kept hold, prove nothing") {
  CHECK_FALSE(is_dead(run_of(0, 11, 12), ci_4()));
  CHECK_FALSE(is_dead(run_of(10, 0, 12), ci_4()));
  CHECK_FALSE(is_dead(run_of(10, 11, 0), ci_4()));
  CHECK_FALSE(is_dead(run_of(-10, 11, 12), ci_4()));
  CHECK_FALSE(is_dead(run_of(10, 1, 12), ci_4()));
  HoldRecord kept = run_of(10, 11, 12);
  kept.kept = true;
  CHECK_FALSE(is_dead(kept, ci_4()));
}

}  // namespace dlock
