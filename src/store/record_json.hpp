// SPDX-License-Identifier: MIT
// Hold records and stored leases as JSON. No other file of the stores' shared code uses the JSON
// library.
//
// Writing fails only in state_to_write(), if the text would be too large. Bytes that are not UTF-8
// become U+FFFD (names are percent-encoded first, so they are kept exactly). Reading accepts
// hostile text: it returns nullopt if the text is no record; a field that is missing or has a wrong
// type gets its default; numbers and texts are limited to reasonable sizes. No exception leaves
// this file. A text beyond the limits of json_bounds.hpp is no record: 64 KiB for a record, 4 MiB
// for a state file.
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

// Returns the word for a mode in records, keys and script arguments: "exclusive" for Mode::plain
// and "write" for Mode::exclusive. All versions of dlock use these words, so they cannot be those
// for users (mode_word).
std::string_view stored_mode(Mode mode);
std::optional<Mode> parse_stored_mode(std::string_view word);

// Returns {"host":…,"pid":…,"user":…,"command":…,"reason":…,"ttl_ms":…}.
std::string holder_json(const HolderInfo& who, Duration ttl);

// Reads {"token":…,"since_ms":…,"mode":"shared","slot":…,"kept":true, and then the fields of
// holder_json}, as acquire.lua writes it. A plain hold has no mode; only slots have a slot.
std::optional<HoldRecord> parse_hold_record(std::string id, std::string_view json);
// Reads only the fields that acquire.lua adds; `who` and `ttl` stay empty. For a grant, whose other
// fields are known from the claim: reading them all would be a tenth of the instructions of a run.
std::optional<HoldRecord> parse_granted_record(std::string id, std::string_view json);

// Returns the record's layout; 1 for any other text. A record with a later layout than k_layout is
// not read: the parsers of single records return nullopt.
std::uint64_t layout_of(std::string_view json);
// Returns Errc::bad_config. `lock`: as in "lock "a" in sqlite:///file".
Error of_newer_dlock(const std::string& lock, std::uint64_t layout);

// Reads a waiter in the line. Its since_ms stays 0, because the text does not have it.
std::optional<Waiter> parse_waiter(std::string_view json);
// Returns {"mode":"slots","slots":…, and then the fields of holder_json except the ttl}. A waiter
// for a plain lock has no mode; only a waiter for slots has their number.
std::string waiter_json(const Waiter& waiter);

// Returns {"waiter":"<owner>#<serial>","since_ms":…, and then the fields of waiter_json}. The
// waiter's arrival and the time until which it is alive are not in it.
std::string place_json(const lease_table::Place& place);
std::optional<lease_table::Place> parse_place(std::string_view json);

// When a lock was written, and in which boot of the machine (local::Machine).
struct BootStamp {
  std::string boot_id;                            // empty: unknown
  std::optional<lease_table::StoreTime> at = {};  // nullopt: written by dlock 0.1
};

// A lock in a file of this machine. The times of its leases are valid in one boot only.
struct StateFile {
  std::string name;
  BootStamp stamp;
  lease_table::StoredLock state;
};

std::string state_file_json(const StateFile& lease);
// Returns the text of a state file. Errc::refused: it would be too large to be read again
// (limits::k_answer_bytes and k_elements).
Result<std::string> state_to_write(const StateFile& lease);

// Reads a state file, more strictly than a record: a missing or wrong field gives nullopt, because
// a guess about who holds a lock could admit a second holder. If the layout is a later one, only
// the name, the boot id and the layout are read.
std::optional<StateFile> parse_state_file(std::string_view json);

}  // namespace dlock
