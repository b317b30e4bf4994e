// SPDX-License-Identifier: MIT
// Preloaded into a redis-server: shows it a wall clock that a test can put ahead. The clock is
// CLOCK_BOOTTIME plus two numbers of µs in the file $CHAOS_CLOCK (8 bytes each): how far it has
// been put ahead, which may change at any time, and how far the wall clock was ahead of
// CLOCK_BOOTTIME when the run began. So it does not matter if somebody sets the wall clock of the
// machine meanwhile. (libfaketime hangs that server.)
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* numbers(void) {
  static const volatile int64_t* shared = NULL;
  if (shared != NULL) return shared;
  const char* const path = getenv("CHAOS_CLOCK");
  const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void* const page = fd >= 0 ? mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (page == MAP_FAILED) abort();
  close(fd);
  shared = (const volatile int64_t*)page;
  return shared;
}

extern "C" int gettimeofday(struct timeval* time, void* /*zone*/) noexcept {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  const volatile int64_t* const ahead = numbers();
  const int64_t us = now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000 + ahead[0] + ahead[1];
  time->tv_sec = us / 1000000;
  time->tv_usec = us % 1000000;
  return 0;
}
