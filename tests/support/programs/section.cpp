// SPDX-License-Identifier: MIT
// The critical section of the chaos run: a command that shows when it ran, and that does what users
// do under a lock. If it holds the lock alone, it writes to a resource that checks fencing tokens,
// and reads, waits and writes a number. Beside others it only reads that number.
//
//   section FILE RUN MS [code N] [ignore] [fork] [fence DB]… [sum FILE]… [look FILE] [count SOCKET]
//   section beat FILE CPU
//   section disk FILE
//
// FILE gets lines "NANOSECONDS RUN PID WHAT…", one write each, stamped by CLOCK_BOOTTIME before the
// write: begin TOKENS OWNERS MODE SLOTS NAMES, counted, tick every 2 ms, fence, sum-begin, sum-end,
// end, torn if a number that is looked at has changed meanwhile. Lists have commas. The nth `fence`
// and the nth `sum` are of the nth name of the lock; a % in their paths stands for the slot, an @
// for the name. `fork` has a grandchild tick 20 ms longer, `ignore` ignores TERM. `count`
// increments in a second Redis. `beat` writes down each time this processor came more than 20 ms
// late; `disk`, each write that took as long.
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

#include <string>
#include <vector>

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
  char line[512];
  int n = snprintf(line, sizeof line, "%lld %s %d ", now_ns(), g_run, (int)getpid());
  va_list words;
  va_start(words, format);
  n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, words);
  va_end(words);
  line[n++] = '\n';
  if (write(g_file, line, (size_t)n) != n) _exit(3);
}

// Returns the variable, with a comma in place of each blank; "-" if it is empty or not set.
static std::string of_environment(const char* name) {
  const char* const value = getenv(name);
  std::string text = value != NULL && *value != '\0' ? value : "-";
  for (char& c : text)
    c = c == ' ' ? ',' : c;
  return text;
}

static std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words(1);
  for (const char c : list) {
    if (c == ',') words.emplace_back();
    if (c != ',') words.back() += c;
  }
  return words;
}

static std::string completed(std::string path) {
  for (const char* const name : {"%DLOCK_SLOT", "@DLOCK_NAME"}) {
    const size_t at = path.find(name[0]);
    if (at != std::string::npos) path.replace(at, 1, of_environment(name + 1));
  }
  return path;
}

// --- the resources -----------------------------------------------------------------------------

// One for each name that is held alone.
struct Fenced {
  sqlite3* db = NULL;
  std::string token;
};
struct Sum {
  std::string path;
  long seen = 0;
};

static Fenced open_fenced(const std::string& path, const std::string& token) {
  Fenced fenced = {NULL, token};
  if (sqlite3_open(path.c_str(), &fenced.db) != SQLITE_OK) {
    note("fence-error");
    return {};
  }
  sqlite3_busy_timeout(fenced.db, 1000);
  sqlite3_exec(fenced.db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
  return fenced;
}

// Writes to the resource. The write and the comparison of the token are one statement, as a user
// would do it.
static void write_fenced(const Fenced& fenced) {
  const char* const token = fenced.token.c_str();
  char text[400];
  snprintf(text,
           sizeof text,
           "BEGIN IMMEDIATE; UPDATE resource SET fence = %s WHERE fence <= %s;"
           "INSERT INTO writes(token, run, ok) VALUES (%s, '%s', changes()); COMMIT",
           token,
           token,
           token,
           g_run);
  if (sqlite3_exec(fenced.db, text, NULL, NULL, NULL) == SQLITE_OK) {
    note("fence");
  } else {
    sqlite3_exec(fenced.db, "ROLLBACK", NULL, NULL, NULL);
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
  const int n =
      snprintf(text, sizeof text, "INCR begins:%s\r\n", of_environment("DLOCK_NAME").c_str());
  const bool sent = connect(fd, (const struct sockaddr*)&address, sizeof address) == 0 &&
                    write(fd, text, (size_t)n) == n && read(fd, text, sizeof text) > 0;
  close(fd);
  note(sent ? "counted" : "count-error");
}

static long read_sum(const std::string& path) {
  char text[32] = "0";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && read(fd, text, sizeof text - 1) < 0) note("sum-error");
  if (fd >= 0) close(fd);
  return atol(text);
}

static void write_sum(const std::string& path, long value) {
  note("sum-begin %ld", value);
  char text[32];
  const int n = snprintf(text, sizeof text, "%020ld\n", value);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, text, (size_t)n) != n) note("sum-error");
  close(fd);
  note("sum-end %ld", value);
}

// --- the programs -----------------------------------------------------------------------------

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

static int disk(const char* path) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int probe =
      open((std::string(path) + ".probe").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  FILE* const file = fopen(path, "a");
  if (file == NULL || probe < 0) return 3;
  for (;;) {
    sleep_ms(5);
    const long long before = now_ns();
    if (pwrite(probe, "\n", 1, 0) != 1) return 3;
    const long long after = now_ns();
    if (after - before < 20000000) continue;
    fprintf(file, "%lld %lld\n", before, after);
    fflush(file);
  }
}

static void tick_until(long long end, const std::vector<Fenced>& resources) {
  for (int i = 1; now_ns() < end; ++i) {
    sleep_ms(2);
    note("tick");
    for (const Fenced& fenced : resources) {
      if (fenced.db != NULL && i % 10 == 1) write_fenced(fenced);
    }
  }
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "beat") == 0) return beat(argv[2], atoi(argv[3]));
  if (argc == 3 && strcmp(argv[1], "disk") == 0) return disk(argv[2]);
  if (argc < 4) return 64;
  g_file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (g_file < 0) return 3;
  g_run = argv[2];
  const std::string tokens = of_environment("DLOCK_TOKEN");
  note("begin %s %s %s %s %s",
       tokens.c_str(),
       of_environment("DLOCK_OWNER").c_str(),
       of_environment("DLOCK_MODE").c_str(),
       of_environment("DLOCK_SLOT").c_str(),
       of_environment("DLOCK_NAME").c_str());
  const long long end = now_ns() + atoll(argv[3]) * 1000000;

  int code = 0;
  std::string looked_at;
  std::vector<Fenced> resources;
  std::vector<Sum> sums;
  for (int i = 4; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "ignore") signal(SIGTERM, SIG_IGN);
    if (word == "fork" && fork() == 0) {
      tick_until(end + 20000000, {});
      _exit(0);
    }
    if (word == "code") code = atoi(value.c_str());
    if (word == "look") looked_at = value;
    if (word == "sum") sums.push_back({completed(value)});
    if (word == "count") count_one(value.c_str());
    if (word == "fence") {
      const std::vector<std::string> each = words_of(tokens);
      const size_t n = resources.size();
      resources.push_back(open_fenced(completed(value), n < each.size() ? each[n] : "-"));
    }
  }
  for (Sum& sum : sums)
    sum.seen = read_sum(sum.path);
  const long before = looked_at.empty() ? 0 : read_sum(looked_at);
  tick_until(end, resources);
  if (!looked_at.empty() && read_sum(looked_at) != before) note("torn");
  for (const Sum& sum : sums)
    write_sum(sum.path, sum.seen + 1);
  note("end");
  return code;
}
