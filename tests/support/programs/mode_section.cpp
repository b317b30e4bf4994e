// SPDX-License-Identifier: MIT
// The command that the crowds of modes.py run under a lock. It writes down when it runs, and what
// it holds.
//
//   mode_section FILE RUN MS
//
// FILE gets lines "RUN begin MODE SLOT NAMES TOKENS", "RUN tick" every 5 ms, and "RUN end". Lists
// have commas in place of blanks; "-" stands for nothing. Each line is one write to the end of the
// file and is made while the section runs. So the order of the lines is a possible order of what
// happened, and a section that was killed ran at least until its last line.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int g_file = -1;

static void note(const char* run, const char* what) {
  char line[512];
  const int n = snprintf(line, sizeof line, "%s %s\n", run, what);
  if (n >= (int)sizeof line || write(g_file, line, (size_t)n) != n) _exit(3);
}

static const char* of_environment(const char* name, char (&list)[160]) {
  const char* const value = getenv(name);
  snprintf(list, sizeof list, "%s", value != NULL && *value != '\0' ? value : "-");
  for (char* at = list; *at != '\0'; ++at) {
    if (*at == ' ') *at = ',';
  }
  return list;
}

static long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  g_file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (g_file < 0) return 3;
  char mode[160];
  char slot[160];
  char names[160];
  char tokens[160];
  char begin[512];
  snprintf(begin,
           sizeof begin,
           "begin %s %s %s %s",
           of_environment("DLOCK_MODE", mode),
           of_environment("DLOCK_SLOT", slot),
           of_environment("DLOCK_NAME", names),
           of_environment("DLOCK_TOKEN", tokens));
  note(argv[2], begin);
  const long long end = now_ms() + atoll(argv[3]);
  while (now_ms() < end) {
    const struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
    note(argv[2], "tick");
  }
  note(argv[2], "end");
  return 0;
}
