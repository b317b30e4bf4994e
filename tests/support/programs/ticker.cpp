// SPDX-License-Identifier: MIT
// The test child: appends lines "NANOSECONDS PID begin|tick|end|SIGNAL" to a file, a tick every
// 2 ms, stamped by CLOCK_BOOTTIME, so that a test can tell when it last ran.
//
//   ticker FILE [for MS] [until FILE] [code N] [ignore SIG] [catch SIG] [fork] [become]
//
// `ignore` and `catch` take numbers and may be repeated; a caught signal is noted and otherwise
// without effect. `fork` has a grandchild tick as well. Without `for` it ticks for 60 s; `until`
// ends it before that, once that file is there.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int file_fd = -1;

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void note(const char* what) {
  char line[96];
  const int n = snprintf(line, sizeof line, "%lld %d %s\n", now_ns(), (int)getpid(), what);
  if (write(file_fd, line, (size_t)n) != n) _exit(3);
}

static void caught(int number) {
  char text[16];
  snprintf(text, sizeof text, "signal-%d", number);
  note(text);
}

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  file_fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_fd < 0) return 3;
  long long run_for = 60000;
  int code = 0;
  const char* until = NULL;
  for (int i = 2; i < argc; ++i) {
    const char* const value = i + 1 < argc ? argv[i + 1] : "0";
    if (strcmp(argv[i], "fork") == 0) {
      if (fork() == 0) break;
      continue;
    }
    if (strcmp(argv[i], "become") == 0) {
      if (setreuid(geteuid(), geteuid()) != 0) return 3;
      continue;
    }
    if (strcmp(argv[i], "for") == 0) run_for = atoll(value);
    if (strcmp(argv[i], "until") == 0) until = value;
    if (strcmp(argv[i], "code") == 0) code = atoi(value);
    if (strcmp(argv[i], "ignore") == 0) signal(atoi(value), SIG_IGN);
    if (strcmp(argv[i], "catch") == 0) {
      struct sigaction action;
      memset(&action, 0, sizeof action);
      action.sa_handler = caught;
      action.sa_flags = SA_RESTART;
      sigaction(atoi(value), &action, NULL);
    }
    ++i;
  }
  note("begin");
  const long long end = now_ns() + run_for * 1000000;
  while (now_ns() < end && (until == NULL || access(until, F_OK) != 0)) {
    const struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
    note("tick");
  }
  note("end");
  return code;
}
