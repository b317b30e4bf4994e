// SPDX-License-Identifier: MIT
// Recognizes file systems that two kernels may share. There, locks in files do not exclude the
// other machine. The other machine takes our leases for those of another boot, which have ended;
// flock(2) may not reach the other machine; and inotify reports only changes by its own machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlock::local {

// Returns the name of a shared file system: "NFS", "FUSE", … Empty: as far as statfs(2) can tell,
// only one kernel writes there. `magic` is f_type of struct statfs.
std::string_view shared_file_system(std::uint32_t magic);

}  // namespace dlock::local
