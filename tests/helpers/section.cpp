// SPDX-License-Identifier: MIT
// The critical section of the chaos run: a command that shows when it ran, and that does what users
// do under a lock: it writes to a resource that checks fencing tokens, and reads, waits and writes
// a number.
//
//   section FILE RUN MS [code N] [ignore] [fork] [fence DB] [sum FILE] [count SOCKET]
//   section beat FILE CPU
//
// FILE gets lines "NANOSECONDS RUN PID WHAT…", one write each, stamped by CLOCK_BOOTTIME before the
// write: begin TOKEN OWNER, counted, tick every 2 ms, fence-ok, fence-no, sum-begin, sum-end, end.
// `fork` has a grandchild tick 20 ms longer, `ignore` ignores TERM. `count` increments in a second
// Redis. `beat` writes down each time this processor came more than 20 ms late.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int g_file = -1;
static const char* g_run = "";

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sleep_ms(long ms) {
  const struct timespec pause = {ms / 1000, (ms % 1000) * 1000000};
  nanosleep(&pause, NULL);
}

__attribute__((format(printf, 1, 2))) static void note(const char* format, ...) {
  char line[256];
  int n = snprintf(line, sizeof line, "%lld %s %d ", now_ns(), g_run, (int)getpid());
  va_list words;
  va_start(words, format);
  n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, words);
  va_end(words);
  line[n++] = '\n';
  if (write(g_file, line, (size_t)n) != n) _exit(3);
}

static const char* of_environment(const char* name) {
  const char* const value = getenv(name);
  return value != NULL && *value != '\0' ? value : "-";
}

// --- the resources -----------------------------------------------------------------------------

// The write and the comparison are one statement, as a user would do it.
static void write_fenced(sqlite3* db, const char* token) {
  char text[400];
  snprintf(text,
           sizeof text,
           "BEGIN IMMEDIATE; UPDATE resource SET fence = %s WHERE fence <= %s;"
           "INSERT INTO writes(token, run, ok) VALUES (%s, '%s', changes()); COMMIT",
           token,
           token,
           token,
           g_run);
  if (sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK) {
    note("fence");
  } else {
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    note("fence-error");
  }
}

static void count_one(const char* path) {
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  char text[128];
  const int n = snprintf(text, sizeof text, "INCR begins:%s\r\n", of_environment("DLOCK_NAME"));
  const bool sent = connect(fd, (const struct sockaddr*)&address, sizeof address) == 0 &&
                    write(fd, text, (size_t)n) == n && read(fd, text, sizeof text) > 0;
  close(fd);
  note(sent ? "counted" : "count-error");
}

static long read_sum(const char* path) {
  char text[32] = "0";
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && read(fd, text, sizeof text - 1) < 0) note("sum-error");
  if (fd >= 0) close(fd);
  return atol(text);
}

static void write_sum(const char* path, long value) {
  note("sum-begin %ld", value);
  char text[32];
  const int n = snprintf(text, sizeof text, "%020ld\n", value);
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, text, (size_t)n) != n) note("sum-error");
  close(fd);
  note("sum-end %ld", value);
}

// --- the two programs --------------------------------------------------------------------------

static int beat(const char* path, int cpu) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
  FILE* const file = fopen(path, "a");
  if (file == NULL) return 3;
  for (;;) {
    const long long before = now_ns();
    sleep_ms(5);
    const long long late = now_ns() - before - 5000000;
    if (late < 20000000) continue;
    fprintf(file, "%lld %lld\n", before, before + 5000000 + late);
    fflush(file);
  }
}

static void tick_until(long long end, sqlite3* db, const char* token) {
  for (int i = 1; now_ns() < end; ++i) {
    sleep_ms(2);
    note("tick");
    if (db != NULL && i % 10 == 1) write_fenced(db, token);
  }
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "beat") == 0) return beat(argv[2], atoi(argv[3]));
  if (argc < 4) return 64;
  g_file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (g_file < 0) return 3;
  g_run = argv[2];
  const char* const token = of_environment("DLOCK_TOKEN");
  note("begin %s %s", token, of_environment("DLOCK_OWNER"));
  const long long end = now_ns() + atoll(argv[3]) * 1000000;

  int code = 0;
  const char* sum = NULL;
  sqlite3* db = NULL;
  for (int i = 4; i < argc; ++i) {
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "ignore") == 0) signal(SIGTERM, SIG_IGN);
    if (strcmp(argv[i], "fork") == 0 && fork() == 0) {
      tick_until(end + 20000000, NULL, token);
      _exit(0);
    }
    if (strcmp(argv[i], "code") == 0) code = atoi(value);
    if (strcmp(argv[i], "sum") == 0) sum = value;
    if (strcmp(argv[i], "count") == 0) count_one(value);
    if (strcmp(argv[i], "fence") == 0 && sqlite3_open(value, &db) == SQLITE_OK) {
      sqlite3_busy_timeout(db, 1000);
      sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    }
  }
  const long seen = sum != NULL ? read_sum(sum) : 0;
  tick_until(end, db, token);
  if (sum != NULL) write_sum(sum, seen + 1);
  note("end");
  return code;
}
