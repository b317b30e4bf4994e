// SPDX-License-Identifier: MIT
// Hold records and stored leases as JSON: the only place of the store floor that knows the library.
//
// Writing always succeeds: bytes that are not UTF-8 become U+FFFD (names are percent-encoded
// first, so that they come back exactly). Reading takes hostile text: what is no record is nullopt,
// a field that is missing or of a wrong type gets its default, numbers and texts are cut to sane
// sizes. Nothing is thrown out of here. What is not within bounds (json_bounds.hpp) is none: a
// record of more than 64 KiB, a state file of more than 4 MiB.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "core/lock_store.hpp"
#include "store/table/stored_lock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlock {

// The word for a mode in records, in keys and in arguments of scripts: "exclusive" for Mode::plain
// and "write" for Mode::exclusive. Every version of dlock reads and writes these words, so they
// differ from the words for users (mode_word).
std::string_view stored_mode(Mode mode);
std::optional<Mode> parse_stored_mode(std::string_view word);

// {"host":…,"pid":…,"user":…,"command":…,"reason":…,"ttl_ms":…}
std::string holder_json(const HolderInfo& who, Duration ttl);

// {"token":…,"since_ms":…,"mode":"shared","slot":…,"kept":true, and then the fields of holder_json:
// what acquire.lua makes of it. The mode is missing in a plain hold, the slot in all but slots.
std::optional<HoldRecord> parse_hold_record(std::string id, std::string_view json);
// Only what acquire.lua adds; `who` and `ttl` stay empty. Of a grant, where the rest is what the
// claim said itself: to read it all is a tenth of the instructions of a run.
std::optional<HoldRecord> parse_granted_record(std::string id, std::string_view json);

// A record of a later layout than k_layout is not read: the parsers of single records say nullopt.
// Its layout; that of what is no record is 1.
std::uint64_t layout_of(std::string_view json);
// Errc::bad_config; `lock` as in "lock "a" in sqlite:///file".
Error of_newer_dlock(const std::string& lock, std::uint64_t layout);

// Of the waiting line; since_ms is not in it.
std::optional<Waiter> parse_waiter(std::string_view json);
// {"mode":"slots","slots":…, and then the fields of holder_json but the ttl}; as above.
std::string waiter_json(const Waiter& waiter);

// {"waiter":"<owner>#<serial>","since_ms":…, and then the fields of waiter_json}. When a waiter
// arrived and until when it lives is not in it.
std::string place_json(const lease_table::Place& place);
std::optional<lease_table::Place> parse_place(std::string_view json);

// When a lock was written, and under which run of the kernel (local::Machine).
struct BootStamp {
  std::string boot_id;                            // empty: not known
  std::optional<lease_table::StoreTime> at = {};  // nullopt: by dlock 0.1
};

// A lock as the stores of this machine keep it. The times of its leases mean something under one
// run of the kernel only.
struct StateFile {
  std::string name;
  BootStamp stamp;
  lease_table::StoredLock state;
};

std::string state_file_json(const StateFile& lease);
// The same for a store that reads it again: Errc::refused, if it would be too large for that
// (limits::k_answer_bytes and k_elements).
Result<std::string> state_to_write(const StateFile& lease);

// Stricter than a record: a missing or wrong field is nullopt, because a guess about who holds a
// lock could let two in. Of a later layout the name, the boot id and the layout are read.
std::optional<StateFile> parse_state_file(std::string_view json);

}  // namespace dlock
