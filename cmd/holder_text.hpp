// SPDX-License-Identifier: MIT
// The holder of a lock, as text for people and as fields for programs. Texts that other processes
// wrote into the store are escaped here.
#pragma once

#include "base/log.hpp"
#include "core/lock_store.hpp"

#include <string>

namespace dlock {

// How much of a holder is shown: everything, or less if the row is too short. The name of the
// holder stays longest.
enum class Detail {
  full,        // deploy@ci-4.example.org pid 812 (backup.sh) for 2m10s, …: nightly import
  short_host,  // deploy@ci-4 (backup.sh) for 2m10s, …: nightly import
  no_reason,   // deploy@ci-4 (backup.sh) for 2m10s, lease 21s left
  no_lease,    // deploy@ci-4 (backup.sh) for 2m10s
  no_command,  // deploy@ci-4 for 2m10s
  who,         // deploy@ci-4
};

// "lease 21s left", "lease at most 30s left", "without expiry"; empty if unknown.
std::string lease_text(const LeaseLeft& left);

// The precision of the lease's end, for programs: "exact", "at_most", "never", "unknown".
const char* lease_left_word(const LeaseLeft& left);

// "held by deploy@ci-4 pid 812 (backup.sh) for 2m10s, lease 21s left: nightly import", "held shared
// by … and 2 others, …", "2 of 3 slots held, by … and 1 other, …", "kept by … for 12s more
// (--min-hold)". `seen_ago` is the age of the holding.
std::string holder_text(const Holding& holding,
                        Duration seen_ago = {},
                        Detail detail = Detail::full);

// "redis://db1:6379: held by …": the word of a quorum's server.
std::string vote_text(const Vote& vote, Duration seen_ago = {});

// The holder as fields: host, pid, user, command, reason, age_ms, lease_left_ms if the lease is
// known to end, and lease_left. In place of the first six: the owner of a hold that is not dlock's;
// the type of a foreign lock and, if known, its owner.
LogEvent::Object holder_fields(const Holding& holding, Duration seen_ago);

// Why a nested claim in `mode` would deadlock: "held shared by an ancestor of this run: an
// exclusive claim would deadlock".
std::string self_deadlock_text(const Holding& holding, Mode mode);

// The oldest hold, which is the outermost of nested holds; a kept hold only if there is no other.
// The holding must have holds.
const HoldRecord& first_hold(const Holding& holding);

// "deploy@ci-4", without the domain of the host.
std::string short_who(const HolderInfo& who);

// "backup.sh": the file name alone; empty where the command is not known.
std::string short_command(const HolderInfo& who);

// " and 2 others": the holders beside the first.
std::string others_text(const Holding& holding);

// "1st", "2nd", "3rd", "11th".
std::string ordinal(std::uint64_t number);

// The queue position, "3rd of 7, "; empty for a `place` of 0: not in line.
std::string place_text(std::uint64_t place, std::uint64_t waiting);

}  // namespace dlock
