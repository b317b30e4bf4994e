// SPDX-License-Identifier: MIT
// The processes of this machine as proc(5) shows them. Each result is a snapshot, which may already
// be out of date.
#pragma once

#include "sys/unique_fd.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct ProcessEntry {
  std::string name;  // the first 15 bytes of the program's name, at most
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
};

// Returns a whole file under /proc; nullopt if it cannot be read.
std::optional<std::string> read_process_file(const std::string& path);

// Returns the process; nullopt if it is dead.
std::optional<ProcessEntry> living_process(pid_t pid);
// Returns all living processes; nullopt if we cannot see them (no /proc, the /proc of another pid
// namespace, hidepid).
std::optional<std::vector<ProcessEntry>> living_processes();

// Returns whether the kernel says that there is no such process, not even a zombie, or that a
// process group has no member. In doubt returns false, as for a number that another process has by
// now, or one that is no pid.
bool is_gone(long pid);
bool is_empty_group(long group);

// The children of our main thread, including dead ones, as the kernel lists them
// (task/[tid]/children). The file stays open: opening it costs more than reading it.
class ChildList {
 public:
  void open();
  // Returns nullopt if the kernel has no such list.
  std::optional<std::vector<pid_t>> look();

 private:
  UniqueFd file_;
};

// Returns the process and its ancestors up to a child of `ancestor`; empty if it does not descend
// from `ancestor`.
std::vector<pid_t> lineage(const ProcessEntry& entry, pid_t ancestor);
inline bool descends(const ProcessEntry& entry, pid_t ancestor) {
  return !lineage(entry, ancestor).empty();
}

// Returns whether `text` is in the environment with which the process was started; false if the
// process is dead or dying. nullopt: we may not look.
std::optional<bool> environment_has(pid_t pid, std::string_view text);

// Returns a value for the soft RLIMIT_RTTIME that limits nothing: it is at least 2^62 us, and
// different each time. Descendants inherit it, even through env -i, so a process that sets it marks
// them. nullopt: this process has, or may have, a real limit.
std::optional<unsigned long long> unlike_limit();
// Returns whether the process has this soft RLIMIT_RTTIME.
bool has_limit(pid_t pid, unsigned long long limit);

}  // namespace dlock
