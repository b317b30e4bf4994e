// SPDX-License-Identifier: MIT
// When a lease in a file of this machine is over because the kernel has booted again, even if
// containers have boot ids of their own. `at` is a time on the clock that all containers share.
#include "store/local/machine.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace dlock::local {

using namespace std::chrono_literals;
using lease_table::StoreTime;

namespace {

StateFile written(std::string boot_id, std::optional<Duration> at, Duration expires, Duration ttl) {
  StateFile file{.name = "a", .stamp = {.boot_id = std::move(boot_id)}, .state = {}};
  if (at) file.stamp.at = StoreTime(*at);
  HoldRecord hold;
  hold.ttl = ttl;
  file.state.leases["o"] = {.holds = {{"s", hold}}, .expires = StoreTime(expires)};
  return file;
}

BootStamp now(std::string boot_id, Duration at) {
  return {.boot_id = std::move(boot_id), .at = StoreTime(at)};
}

}  // namespace

TEST_CASE("where both ids are the kernel's they decide, whatever the clock shows") {
  const StateFile file = written("boot-1", 1000s, 1030s, 30s);
  CHECK_FALSE(is_of_another_boot(file, now("boot-1", 1010s)));
  CHECK_FALSE(is_of_another_boot(file, now("boot-1", 5s)));  // a snapshot was restored
  CHECK(is_of_another_boot(file, now("boot-2", 5s)));
  CHECK(is_of_another_boot(file, now("boot-2", 1010s)));
}

TEST_CASE("a container's id frees no lease: the clock decides, which never goes back") {
  const StateFile of_host = written("boot-1", 1000s, 1030s, 30s);
  CHECK_FALSE(is_of_another_boot(of_host, now("", 1010s)));
  CHECK_FALSE(is_of_another_boot(of_host, now("", 1000s)));
  CHECK(is_of_another_boot(of_host, now("", 999s)));

  const StateFile of_container = written("", 1000s, 1030s, 30s);
  for (const char* id : {"boot-1", ""}) {
    CAPTURE(id);
    CHECK_FALSE(is_of_another_boot(of_container, now(id, 1010s)));
    CHECK(is_of_another_boot(of_container, now(id, 5s)));
  }
}

TEST_CASE("a lease longer than the machine has been up is none that was written later than now") {
  // Taken for a day, and looked at an hour later, from a container.
  CHECK_FALSE(is_of_another_boot(written("", 60s, 24h + 60s, 24h), now("", 1h)));
}

TEST_CASE("a file of dlock 0.1 counts under its own id, and under another until it ends") {
  const StateFile file = written("boot-1", {}, 1030s, 30s);
  CHECK_FALSE(is_of_another_boot(file, now("boot-1", 1010s)));
  CHECK_FALSE(is_of_another_boot(file, now("boot-1", 5s)));
  for (const char* id : {"boot-2", ""}) {
    CAPTURE(id);
    CHECK_FALSE(is_of_another_boot(file, now(id, 1010s)));  // 0.1 may run in a container
    CHECK_FALSE(is_of_another_boot(file, now(id, 1000s)));
    CHECK(is_of_another_boot(file, now(id, 999s)));  // it was taken later than now
  }
}

TEST_CASE("the machine's clock is ours without the offset of the time namespace") {
  const Machine host(Boot{.id = "b", .clock_offset = {}});
  const Machine container(Boot{.id = "b", .clock_offset = 100000s});
  const StoreTime before = container.now();
  const StoreTime later = host.now();
  CHECK(later - before > 99990s);
  CHECK(later - container.now() <= 100000s);
  CHECK(container.stamp().boot_id == "b");
  CHECK(*container.stamp().at < before + 10s);
  CHECK(container.moment({}).now < before + 10s);
}

}  // namespace dlock::local
