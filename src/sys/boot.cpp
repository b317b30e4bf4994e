// SPDX-License-Identifier: MIT
#include "sys/boot.hpp"

#include "sys/file_bytes.hpp"
#include "sys/process_table.hpp"
#include "sys/unique_fd.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>

namespace dlock {

namespace {

constexpr const char* k_boot_id = "/proc/sys/kernel/random/boot_id";
// The kernel's first time namespace: TIME_NS_INIT_INO in linux/nsfs.h.
constexpr std::string_view k_first_time_namespace = "time:[4026531834]";

std::string namespace_of(const char* link) {
  std::array<char, 64> name{};
  const ssize_t n = ::readlink(link, name.data(), name.size());
  return {name.data(), static_cast<std::size_t>(n > 0 ? n : 0)};
}

// Returns whether the open file is the kernel's own file in proc(5), and not a file that a
// container has mounted in its place. A part of the check needs Linux 5.8.
bool is_kernels_own(int fd) {
  struct statfs place {};
  struct statx file {};
  return ::fstatfs(fd, &place) == 0 &&
         static_cast<std::uint32_t>(place.f_type) == PROC_SUPER_MAGIC &&
         ::statx(fd, "", AT_EMPTY_PATH, 0, &file) == 0 &&
         (file.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0;
}

Result<Duration> clock_offset() {
  const std::string own = namespace_of("/proc/self/ns/time");
  if (own == k_first_time_namespace) return Duration{};
  const auto offsets = read_process_file("self/timens_offsets");
  if (!offsets && errno == ENOENT) return Duration{};  // a kernel without time namespaces
  // timens_offsets describes the namespace of our children, which may differ from ours.
  const bool is_ours = !own.empty() && own == namespace_of("/proc/self/ns/time_for_children");
  const auto offset = offsets && is_ours ? boot_offset_in(*offsets) : std::nullopt;
  if (offset) return *offset;
  return Error{Errc::bad_config,
               "cannot keep local locks: the clock of this time namespace is not known from "
               "/proc/self/timens_offsets; run dlock in a process that was started in it"};
}

}  // namespace

std::optional<Duration> boot_offset_in(std::string_view timens_offsets) {
  for (const std::string_view clock : {"boottime ", "7 "}) {  // Linux 5.6 writes "7 "
    const std::size_t at = ("\n" + std::string(timens_offsets)).find("\n" + std::string(clock));
    long long seconds = 0;
    long nanoseconds = 0;
    if (at == std::string::npos) continue;
    const std::string rest(timens_offsets.substr(at + clock.size()));
    if (std::sscanf(rest.c_str(), "%lld %ld", &seconds, &nanoseconds) != 2) continue;
    return std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds);
  }
  return std::nullopt;
}

Result<Boot> this_boot() {
  constexpr std::size_t k_longest = 64;
  const UniqueFd file(::open(k_boot_id, O_RDONLY | O_CLOEXEC));
  std::string id;
  if (file) (void)read_bytes(file.get(), k_longest, id);
  id.resize(std::min(id.find('\n'), id.size()));
  if (id.empty()) {
    return Error{Errc::system,
                 "cannot keep local locks: " + std::string(k_boot_id) + " is not readable"};
  }
  const auto offset = clock_offset();
  if (!offset) return offset.error();
  return Boot{.id = is_kernels_own(file.get()) ? id : "", .clock_offset = *offset};
}

std::string pid_space() {
  const auto boot = this_boot();
  const std::string space = namespace_of("/proc/self/ns/pid");
  if (!boot || boot->id.empty() || space.empty()) return "";
  return boot->id + ' ' + space;
}

}  // namespace dlock
