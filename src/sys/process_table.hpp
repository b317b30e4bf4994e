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

// One that is not dead.
std::optional<ProcessEntry> living_process(pid_t pid);
// All that are not dead; nothing if we may not look at them (no /proc, or one of another
// pid namespace; hidepid).
std::optional<std::vector<ProcessEntry>> living_processes();

// Those whose parent our main thread is, dead ones included, by the list the kernel keeps
// (task/[tid]/children). It stays open: to find it again costs more than to read it.
class ChildList {
 public:
  void open();
  // Nothing if there is no list.
  std::optional<std::vector<pid_t>> look();

 private:
  UniqueFd file_;
};

// From it up to the child of `ancestor` among its parents; empty if `ancestor` is none of them.
std::vector<pid_t> lineage(const ProcessEntry& entry, pid_t ancestor);
inline bool descends(const ProcessEntry& entry, pid_t ancestor) {
  return !lineage(entry, ancestor).empty();
}

// Was `text` in the environment the process was started with? Nothing, if we may not look; no, if
// it is dead or dying.
std::optional<bool> environment_has(pid_t pid, std::string_view text);

// A soft RLIMIT_RTTIME that is as good as none, 2^62 us or more, and another one each time. Who
// sets it marks what descends from it, also through env -i. Nothing: there is a limit, or there may
// be.
std::optional<unsigned long long> unlike_limit();
// Is this the limit of the process?
bool has_limit(pid_t pid, unsigned long long limit);

}  // namespace dlock
