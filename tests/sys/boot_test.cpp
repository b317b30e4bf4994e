// SPDX-License-Identifier: MIT
// What a process in a container can find out about the machine: with a boot id of its own, or with
// another clock.
#include "sys/boot.hpp"

#include "sys/unique_fd.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "forked.hpp"
#include "support/temp_dir.hpp"

namespace dlock {

using namespace std::chrono_literals;

namespace {

constexpr const char* k_boot_id = "/proc/sys/kernel/random/boot_id";

// Returns what `act` returns in a mount namespace of its own, with `file` in place of the boot id.
std::string with_boot_id(const std::string& file, const std::function<std::string()>& act) {
  return test::forked([&]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(file.c_str(), k_boot_id, nullptr, MS_BIND, nullptr) != 0) {
      return "no right";
    }
    return act();
  });
}

bool write_to(const char* path, const std::string& text) {
  const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Returns what `act` returns in a process whose clock is that far ahead.
std::string with_clock(const std::string& seconds, const std::function<std::string()>& act) {
  return test::forked([&]() -> std::string {
    if (::unshare(CLONE_NEWTIME) != 0 ||
        !write_to("/proc/self/timens_offsets", "boottime " + seconds + " 0")) {
      return "no right";
    }
    return test::forked(act);
  });
}

std::string offset() {
  const auto boot = this_boot();
  return boot ? std::to_string(boot->clock_offset / 1s) : boot.error().text;
}

}  // namespace

TEST_CASE("the boot id is the kernel's, and our clock the machine's") {
  const auto boot = this_boot();
  REQUIRE(boot.has_value());
  std::string id;
  std::ifstream(k_boot_id) >> id;
  CHECK(boot->id == id);
  CHECK(boot->clock_offset == 0s);
  CHECK(pid_space().starts_with(id + " pid:["));
}

TEST_CASE("a boot id that a container has mounted over the kernel's is none, and no pid is known") {
  const test::TempDir directory;
  const std::string file = directory.path() + "/boot_id";
  std::ofstream(file) << "00000000-0000-4000-8000-000000000000\n";
  // The second is a file of proc(5) too.
  for (const std::string& over : {file, std::string("/proc/sys/kernel/random/uuid")}) {
    CAPTURE(over);
    const std::string seen = with_boot_id(over, [] {
      const auto boot = this_boot();
      return (boot ? "id '" + boot->id + "'" : boot.error().text) + ", pids '" + pid_space() + "'";
    });
    if (seen == "no right") return;
    CHECK(seen == "id '', pids ''");
  }
}

TEST_CASE("a time namespace is known by its offset, and one whose offset is not known is refused") {
  const std::string ahead = with_clock("100000", offset);
  if (ahead == "no right") return;
  CHECK(ahead == "100000");
  CHECK(with_clock("-1", offset) == "-1");
  // The file tells of the next namespace, which children of this process will be in.
  CHECK(with_clock("100000", [] {
          return ::unshare(CLONE_NEWTIME) == 0 ? offset() : "no right";
        }).starts_with("cannot keep local locks: the clock of this time namespace is not known"));
}

TEST_CASE("the offset of a clock is read as each kernel writes it") {
  CHECK(boot_offset_in("monotonic          0         0\nboottime      100000         0\n") ==
        100000s);
  CHECK(boot_offset_in("boottime          -2 500000000\n") == -1500ms);
  CHECK(boot_offset_in("1 5 0\n7 6 1\n") == 6s + 1ns);
  for (const char* text : {"", "monotonic 1 0\n", "boottime\n", "boottime 1\n", "17 1 0\n"}) {
    CAPTURE(text);
    CHECK_FALSE(boot_offset_in(text).has_value());
  }
}

}  // namespace dlock
