// SPDX-License-Identifier: MIT
// File systems that two kernels may share. On these, local locks do not exclude the other machine:
// leases of another boot count as expired, flock(2) may not reach the other machine, and inotify
// reports only changes by its own machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlock::local {

// Returns "NFS", "FUSE", …; empty: only one kernel writes there, as far as statfs(2) can tell.
// `magic`: f_type in struct statfs.
std::string_view shared_file_system(std::uint32_t magic);

}  // namespace dlock::local
