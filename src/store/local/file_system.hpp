// SPDX-License-Identifier: MIT
// Which file systems two kernels may see at once. On such a one local locks exclude nobody on the
// other machine: to it, a lease of another boot is over, its flock(2) may not reach us, and inotify
// tells of our own changes only.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlock::local {

// "NFS", "FUSE", …; empty: one kernel alone writes there, as far as statfs(2) can tell. `magic` is
// f_type of struct statfs.
std::string_view shared_file_system(std::uint32_t magic);

}  // namespace dlock::local
