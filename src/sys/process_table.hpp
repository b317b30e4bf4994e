// SPDX-License-Identifier: MIT
// The processes of this machine as proc(5) shows them: a snapshot, which may be outdated when it is
// read.
#pragma once

#include "sys/unique_fd.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct ProcessEntry {
  std::string name;  // at most 15 bytes of it
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
};

// A file under /proc, whole; nothing if it cannot be read.
std::optional<std::string> read_process_file(const std::string& path);

// The process, unless it is dead.
std::optional<ProcessEntry> living_process(pid_t pid);
// All living processes; nothing if we may not look at them (no /proc, a /proc of another pid
// namespace; hidepid).
std::optional<std::vector<ProcessEntry>> living_processes();

// The children of our main thread, dead ones included, from the kernel's list
// (task/[tid]/children). The list stays open: opening it again costs more than reading it.
class ChildList {
 public:
  void open();
  // Nothing if there is no list.
  std::optional<std::vector<pid_t>> look();

 private:
  UniqueFd file_;
};

// The process and its parents up to the child of `ancestor`; empty if `ancestor` is not a parent.
std::vector<pid_t> lineage(const ProcessEntry& entry, pid_t ancestor);
inline bool descends(const ProcessEntry& entry, pid_t ancestor) {
  return !lineage(entry, ancestor).empty();
}

// Whether `text` was in the environment with which the process was started. Nothing: we may not
// look; false also if the process is dead or dying.
std::optional<bool> environment_has(pid_t pid, std::string_view text);

// A soft RLIMIT_RTTIME that limits nothing, 2^62 us or more, different each time. It marks the
// descendants of a process that sets it, also through env -i. Nothing: there is, or may be, a
// limit.
std::optional<unsigned long long> unlike_limit();
// Whether the process has this limit.
bool has_limit(pid_t pid, unsigned long long limit);

}  // namespace dlock
