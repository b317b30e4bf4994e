// SPDX-License-Identifier: MIT
// File systems that two kernels may share. There local locks do not exclude the other machine: it
// takes a lease of another boot for expired, its flock(2) may not reach this machine, and inotify
// reports changes of this machine only.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlock::local {

// "NFS", "FUSE", …; empty: one kernel alone writes there, as far as statfs(2) can tell. `magic` is
// f_type of struct statfs.
std::string_view shared_file_system(std::uint32_t magic);

}  // namespace dlock::local
