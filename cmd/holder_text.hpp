// SPDX-License-Identifier: MIT
// The holder of a lock, as text for people and as fields for programs. Escapes texts that other
// processes have written into the store.
#pragma once

#include "base/log.hpp"
#include "core/lock_store.hpp"

#include <string>

namespace dlock {

// How much a message says about a holder. A message that does not fit into one row of the terminal
// says less. All name the holder.
enum class Detail {
  full,        // deploy@ci-4.example.org pid 812 (backup.sh) for 2m10s, …: nightly import
  short_host,  // deploy@ci-4 (backup.sh) for 2m10s, …: nightly import
  no_reason,   // deploy@ci-4 (backup.sh) for 2m10s, lease 21s left
  no_lease,    // deploy@ci-4 (backup.sh) for 2m10s
  no_command,  // deploy@ci-4 for 2m10s
  who,         // deploy@ci-4
};

// Returns "lease 21s left", "lease at most 30s left" or "without expiry"; empty if unknown.
std::string lease_text(const LeaseLeft& left);

// Returns how exact the time left is, for programs: "exact", "at_most", "never", "unknown".
const char* lease_left_word(const LeaseLeft& left);

// Returns "held by deploy@ci-4 pid 812 (backup.sh) for 2m10s, lease 21s left: nightly import",
// "held shared by … and 2 others, …", "2 of 3 slots held, by … and 1 other, …" or "kept by … for
// 12s more (--min-hold)", or, of a frozen name without a holder, the frozen_text(). `seen_ago`: how
// long ago the store sent `holding`.
std::string holder_text(const Holding& holding,
                        Duration seen_ago = {},
                        Detail detail = Detail::full);

// Returns "frozen by deploy@ci-4 for 1h59m more: database upgrade". `seen_ago`: how long ago the
// store sent the freeze.
std::string frozen_text(const Freeze& freeze, Duration seen_ago = {}, Detail detail = Detail::full);

// Returns the answer of one server of a quorum: "redis://db1:6379: held by …".
std::string vote_text(const Vote& vote, Duration seen_ago = {});

// Returns the holder as fields for JSON:
// - for a hold of dlock: host, pid, user, command, reason and age_ms;
// - for a hold in dlock's layout that another program made: owner;
// - for a lock of another kind: type and, if known, owner.
// Then follow lease_left_ms, if the lease has a known end, lease_left, and, if the name is frozen,
// frozen_ms.
LogEvent::Object holder_fields(const Holding& holding, Duration seen_ago);

// Returns why a nested claim in `mode` would deadlock: "held shared by an ancestor of this run: an
// exclusive claim would deadlock".
std::string self_deadlock_text(const Holding& holding, Mode mode);

// Returns the oldest hold, which is the outermost of nested holds; a kept hold only if there is no
// other. The holding must have holds.
const HoldRecord& first_hold(const Holding& holding);

// Returns whether the lock is only kept (by --min-hold or a freeze): no run holds it.
bool is_only_kept(const Holding& holding);
// Returns whether the name is frozen, and no run holds it.
bool is_only_frozen(const Holding& holding);

// Returns "deploy@ci-4", without the host's domain.
std::string short_who(const HolderInfo& who);

// Returns the file name of the command, "backup.sh"; empty if the command is unknown.
std::string short_command(const HolderInfo& who);

// Returns " and 2 others", for the holders besides the first.
std::string others_text(const Holding& holding);

// Returns "1st", "2nd", "3rd", "11th".
std::string ordinal(std::uint64_t number);

// Returns the place in line, "3rd of 7, "; empty if `place` is 0 (not in line).
std::string place_text(std::uint64_t place, std::uint64_t waiting);

}  // namespace dlock
