// SPDX-License-Identifier: MIT
// Hold records and stored leases as JSON: the only place of the store floor that knows the library.
//
// Writing always succeeds: bytes that are not UTF-8 become U+FFFD (names are percent-encoded
// first, so they come back exactly). Reading takes hostile text: a text that is no record gives
// nullopt, a missing field or one of a wrong type gets its default, numbers and texts are cut to
// sane sizes. Nothing is thrown out of here. A text beyond the bounds of json_bounds.hpp is no
// record: more than 64 KiB for a record, 4 MiB for a state file.
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
// Reads only what acquire.lua adds; `who` and `ttl` stay empty. For a grant, whose other fields the
// claim itself said: to read them all is a tenth of the instructions of a run.
std::optional<HoldRecord> parse_granted_record(std::string id, std::string_view json);

// A record of a later layout than k_layout is not read: the parsers of single records give nullopt.
// The record's layout; 1 for any other text.
std::uint64_t layout_of(std::string_view json);
// Errc::bad_config; `lock` as in "lock "a" in sqlite:///file".
Error of_newer_dlock(const std::string& lock, std::uint64_t layout);

// Reads a waiter of the line; since_ms is not in it.
std::optional<Waiter> parse_waiter(std::string_view json);
// {"mode":"slots","slots":…, and then the fields of holder_json but the ttl}; as above.
std::string waiter_json(const Waiter& waiter);

// {"waiter":"<owner>#<serial>","since_ms":…, and then the fields of waiter_json}. It lacks the
// waiter's arrival, and until when it lives.
std::string place_json(const lease_table::Place& place);
std::optional<lease_table::Place> parse_place(std::string_view json);

// When a lock was written, and in which boot of the machine (local::Machine).
struct BootStamp {
  std::string boot_id;                            // empty: unknown
  std::optional<lease_table::StoreTime> at = {};  // nullopt: dlock 0.1 wrote it
};

// A lock in a file of this machine. The times of its leases mean something in one boot only.
struct StateFile {
  std::string name;
  BootStamp stamp;
  lease_table::StoredLock state;
};

std::string state_file_json(const StateFile& lease);
// The text of a state file, for a store that reads it again: Errc::refused if it would be too large
// for that (limits::k_answer_bytes and k_elements).
Result<std::string> state_to_write(const StateFile& lease);

// Stricter than a record: a missing or wrong field gives nullopt, because a guess about who holds a
// lock could let two in. Of a later layout only the name, the boot id and the layout are read.
std::optional<StateFile> parse_state_file(std::string_view json);

}  // namespace dlock
