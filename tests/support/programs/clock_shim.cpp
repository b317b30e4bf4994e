// SPDX-License-Identifier: MIT
// A library to preload that shows one program other clocks, which a test moves while it runs:
//
//   LD_PRELOAD=clock_shim.so CLOCK_SHIM=FILE CLOCK_SHIM_FOR=dlock dlock …
//
// FILE is written by clock.py. Only the program of the name CLOCK_SHIM_FOR is affected, not what it
// executes. CLOCK_REALTIME, gettimeofday and time are shifted; CLOCK_BOOTTIME may jump, run at
// another speed or stand still, and timers on it fire accordingly, as they do when a machine wakes.
// CLOCK_MONOTONIC is left alone, as in a machine that sleeps. A static program is not affected.
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::int64_t k_second = 1000000000;
constexpr int k_slice_ms = 5;  // how soon a waiting program sees that its clock was moved

// The content of FILE, as clock.py writes it. `version` is odd while it is being written.
struct Control {
  std::atomic<std::int64_t> version, real_shift, boot_from, boot_shown, boot_ppm;
};
// boot = boot_shown + (true boot time - boot_from) * boot_ppm / 1,000,000

const Control* control = nullptr;

struct Timer {
  bool armed;
  itimerspec spec;
};
Timer timers[256];
std::int64_t timers_version = 0;

__attribute__((constructor)) void begin() {
  const char* const file = getenv("CLOCK_SHIM");
  const char* const program = getenv("CLOCK_SHIM_FOR");
  char self[4096] = {};
  if (file == nullptr || program == nullptr) return;
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return;
  const char* const name = strrchr(self, '/') + 1;
  if (strncmp(name, program, strlen(program)) != 0) return;  // "redis" fits every program of Redis
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  void* const at = mmap(nullptr, sizeof(Control), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) abort();
  control = static_cast<const Control*>(at);
}

std::int64_t to_ns(const timespec& t) {
  return t.tv_sec * k_second + t.tv_nsec;
}
timespec to_spec(std::int64_t ns) {
  return {ns / k_second, ns % k_second};
}
std::int64_t true_time(clockid_t clock) {
  timespec t{};
  syscall(SYS_clock_gettime, clock, &t);
  return to_ns(t);
}

struct Boot {
  std::int64_t version, from, shown, ppm;
};
Boot boot() {
  for (;;) {
    const Boot b{control->version, control->boot_from, control->boot_shown, control->boot_ppm};
    if (b.version % 2 == 0 && b.version == control->version) return b;
  }
}
std::int64_t shown(const Boot& b, std::int64_t true_ns) {
  return b.shown +
         static_cast<std::int64_t>(static_cast<__int128>(true_ns - b.from) * b.ppm / 1000000);
}
std::int64_t true_of(const Boot& b, std::int64_t shown_ns) {
  if (b.ppm == 0) return true_time(CLOCK_BOOTTIME) + 1000000 * k_second;
  return b.from +
         static_cast<std::int64_t>(static_cast<__int128>(shown_ns - b.shown) * 1000000 / b.ppm);
}

int arm(int fd, const itimerspec& wanted, itimerspec* old) {
  itimerspec spec = wanted;
  const std::int64_t at = to_ns(wanted.it_value);
  if (at != 0) spec.it_value = to_spec(std::max<std::int64_t>(true_of(boot(), at), 1));
  return static_cast<int>(syscall(SYS_timerfd_settime, fd, TFD_TIMER_ABSTIME, &spec, old));
}

void arm_again() {
  const std::int64_t version = control->version;
  if (version == timers_version) return;
  timers_version = version;
  for (int fd = 0; fd < 256; ++fd) {
    if (timers[fd].armed) arm(fd, timers[fd].spec, nullptr);
  }
}

bool is_real(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const long rc = syscall(SYS_clock_gettime, clock, out);
  if (rc != 0 || control == nullptr) return static_cast<int>(rc);
  if (is_real(clock)) *out = to_spec(to_ns(*out) + control->real_shift);
  if (clock == CLOCK_BOOTTIME) *out = to_spec(shown(boot(), to_ns(*out)));
  return 0;
}

int gettimeofday(timeval* out, void*) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *out = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

int timerfd_settime(int fd, int flags, const itimerspec* wanted, itimerspec* old) noexcept {
  if (control == nullptr || (flags & TFD_TIMER_ABSTIME) == 0 || fd >= 256) {
    return static_cast<int>(syscall(SYS_timerfd_settime, fd, flags, wanted, old));
  }
  timers[fd] = {to_ns(wanted->it_value) != 0, *wanted};
  return arm(fd, *wanted, old);
}

int poll(pollfd* fds, nfds_t count, int timeout) {
  const std::int64_t end = true_time(CLOCK_MONOTONIC) + timeout * std::int64_t{1000000};
  for (;;) {
    std::int64_t slice = timeout < 0 ? k_second : end - true_time(CLOCK_MONOTONIC);
    if (control != nullptr) {
      arm_again();
      slice = std::min<std::int64_t>(slice, k_slice_ms * 1000000);
    }
    timespec limit = to_spec(std::max<std::int64_t>(slice, 0));
    const auto rc = static_cast<int>(syscall(SYS_ppoll, fds, count, &limit, nullptr, 0));
    if (rc != 0 || (timeout >= 0 && true_time(CLOCK_MONOTONIC) >= end)) return rc;
  }
}

}  // extern "C"
