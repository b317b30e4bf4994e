// SPDX-License-Identifier: MIT
#include "sys/process_table.hpp"

#include "base/boot_clock.hpp"
#include "sys/file_bytes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

namespace dlock {

namespace {

constexpr unsigned long long k_least_unlike = 1ULL << 62;

UniqueFd open_process_file(const std::string& path) {
  return UniqueFd(::open(("/proc/" + path).c_str(), O_RDONLY | O_CLOEXEC));
}

// Reads the file from its beginning until its end or an error.
std::string read_whole(const UniqueFd& file) {
  std::string text;
  ::lseek(file.get(), 0, SEEK_SET);
  read_bytes(file.get(), std::string::npos - 1, text);
  return text;
}

}  // namespace

std::optional<std::string> read_process_file(const std::string& path) {
  const UniqueFd file = open_process_file(path);
  if (!file) return {};
  return read_whole(file);
}

namespace {

// Returns the process, from /proc/[pid]/stat: "pid (comm) state ppid pgrp session …". comm may
// contain anything, so the last ")" ends it. nullopt: the process is gone or dead. A process whose
// main thread has ended looks dead (Z) but has other threads; a dead process has one thread.
std::optional<ProcessEntry> entry_of(const std::string& process) {
  const auto text = read_process_file(process + "/stat");
  const std::size_t comm_end = text ? text->rfind(')') : std::string::npos;
  if (comm_end == std::string::npos) return {};
  ProcessEntry entry;
  const std::size_t name_begin = std::min(text->find('(') + 1, comm_end);
  entry.name = text->substr(name_begin, comm_end - name_begin);
  char state = 0;
  const char* const rest = text->c_str() + comm_end + 1;
  int threads = 0;  // field 20, num_threads
  constexpr const char* k_form =
      " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d";
  if (std::sscanf(rest, k_form, &state, &entry.parent, &entry.group, &entry.session, &threads) !=
      5) {
    return {};
  }
  if (state == 'X' || (state == 'Z' && threads < 2)) return {};
  std::from_chars(text->data(), text->data() + text->size(), entry.pid);
  return entry;
}

// 1 is no pid of a run, and kill(2) takes 0 and -1 for something else.
bool is_pid(long number) {
  return number > 1 && number <= std::numeric_limits<pid_t>::max();
}

}  // namespace

std::optional<ProcessEntry> living_process(pid_t pid) {
  return entry_of(std::to_string(pid));
}

std::optional<std::vector<ProcessEntry>> living_processes() {
  const auto close = [](DIR* directory) { ::closedir(directory); };
  const std::unique_ptr<DIR, decltype(close)> proc(::opendir("/proc"), close);
  // The /proc of another pid namespace (unshare(1) without --mount-proc) shows other pids than
  // ours.
  const auto self = entry_of("self");
  if (!proc || !self || self->pid != ::getpid()) return {};
  std::vector<ProcessEntry> entries;
  while (const dirent* const item = ::readdir(proc.get())) {
    const std::string process = item->d_name;
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    if (auto entry = entry_of(process)) entries.push_back(*entry);
  }
  return entries;
}

bool is_gone(long pid) {
  return is_pid(pid) && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

bool is_empty_group(long group) {
  return is_pid(group) && ::kill(static_cast<pid_t>(-group), 0) != 0 && errno == ESRCH;
}

void ChildList::open() {
  if (!file_) file_ = open_process_file("self/task/" + std::to_string(::getpid()) + "/children");
}

std::optional<std::vector<pid_t>> ChildList::look() {
  open();
  if (!file_) return {};
  const std::string list = read_whole(file_);
  std::vector<pid_t> pids;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    pid_t pid = 0;
    const auto [next, status] = std::from_chars(at, end, pid);
    if (status == std::errc()) pids.push_back(pid);
    at = next + 1;
  }
  return pids;
}

std::vector<pid_t> lineage(const ProcessEntry& entry, pid_t ancestor) {
  std::vector<pid_t> pids{entry.pid};
  std::optional<ProcessEntry> at = entry;
  while (at && at->parent > 1 && at->parent != ancestor) {
    at = living_process(at->parent);
    if (at) pids.push_back(at->pid);
  }
  if (!at || at->parent != ancestor) pids.clear();
  return pids;
}

std::optional<bool> environment_has(pid_t pid, std::string_view text) {
  errno = 0;
  const auto environment = read_process_file(std::to_string(pid) + "/environ");
  // ESRCH: since Linux 6.18 the answer for a dying process whose memory is gone already. Such a
  // process runs no code any more. ENOENT: there is no such process.
  if (!environment && (errno == ESRCH || errno == ENOENT)) return false;
  // An ordinary user may not even look at a zombie.
  if (!environment) return living_process(pid) ? std::nullopt : std::optional(false);
  return environment->find(text) != std::string::npos;
}

std::optional<unsigned long long> unlike_limit() {
  rlimit limit{};
  const bool none = ::getrlimit(RLIMIT_RTTIME, &limit) == 0 && limit.rlim_cur >= k_least_unlike &&
                    limit.rlim_max == RLIM_INFINITY;
  if (!none) return {};
  const auto now = static_cast<unsigned long long>(BootClock::now().time_since_epoch().count());
  return k_least_unlike + now % k_least_unlike;
}

bool has_limit(pid_t pid, unsigned long long limit) {
  constexpr std::string_view k_title = "Max realtime timeout";
  const auto limits = read_process_file(std::to_string(pid) + "/limits");
  const auto line = limits ? limits->find(k_title) : std::string::npos;
  if (line == std::string::npos) return false;
  const auto soft = limits->find_first_not_of(' ', line + k_title.size());
  const std::string wanted = std::to_string(limit) + ' ';
  return soft != std::string::npos && limits->compare(soft, wanted.size(), wanted) == 0;
}

}  // namespace dlock
