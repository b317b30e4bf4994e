// SPDX-License-Identifier: MIT
// Writes hold records and stored locks as JSON, and reads them. No other file of the stores' shared
// code uses the JSON library.
//
// Writing fails only in state_to_write(), if the text would be too large. In texts, bytes that are
// not UTF-8 are replaced by U+FFFD; names of locks are percent-encoded first, so they are kept
// exactly.
//
// Reading accepts hostile text. It returns nullopt if the text is no record, or is larger than 64
// KiB for a record and 4 MiB for a state file, or exceeds the other limits of json_bounds.hpp. A
// field that is missing or has a wrong type gets its default value. Numbers and texts are limited
// to reasonable sizes. No exception leaves this file.
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

// Returns the word for a mode in stored records, keys and arguments of scripts: "exclusive" for
// Mode::plain and "write" for Mode::exclusive. Users see other words (mode_word()). These words
// must never change, because other versions of dlock read them.
std::string_view stored_mode(Mode mode);
std::optional<Mode> parse_stored_mode(std::string_view word);

// Returns {"host":…,"pid":…,"user":…,"command":…,"reason":…,"ttl_ms":…}.
std::string holder_json(const HolderInfo& who, Duration ttl);

// Reads a record as acquire.lua writes it:
// {"token":…,"since_ms":…,"mode":"shared","slot":…,"kept":true, followed by the fields of
// holder_json(). A plain hold has no "mode"; only a hold of slots has a "slot".
std::optional<HoldRecord> parse_hold_record(std::string id, std::string_view json);
// Reads only the fields that acquire.lua adds; `who` and `ttl` stay empty. This is for the answer
// to a claim, which knows its own `who` and `ttl`. Reading these too would cost a tenth of the
// instructions of a run.
std::optional<HoldRecord> parse_granted_record(std::string id, std::string_view json);

// Returns the version of the record's format (lease_table::k_layout), or 1 for a text that names
// none. The parsers of single records return nullopt for a version that is later than k_layout.
std::uint64_t layout_of(std::string_view json);
// Returns the error (Errc::bad_config) for a lock that a newer dlock has written. `lock` names it:
// lock "a" in sqlite:///file.
Error of_newer_dlock(const std::string& lock, std::uint64_t layout);

// Reads the text of a waiter. Waiter::since_ms stays 0, because the text does not contain the time.
std::optional<Waiter> parse_waiter(std::string_view json);
// Returns {"mode":"slots","slots":…, followed by the fields of holder_json() without "ttl_ms". A
// waiter for a plain lock has no "mode"; only a waiter for slots has "slots", their number.
std::string waiter_json(const Waiter& waiter);

// Returns {"waiter":"<owner>#<serial>","since_ms":…, followed by the fields of waiter_json(). The
// text contains neither the waiter's arrival nor the time until which the waiter counts as alive.
std::string place_json(const lease_table::Place& place);
std::optional<lease_table::Place> parse_place(std::string_view json);

// When a lock was written, and in which boot of the machine; local/machine.hpp compares two such
// stamps.
struct BootStamp {
  std::string boot_id;  // empty: unknown
  // nullopt: dlock 0.1 wrote the lock, without a time.
  std::optional<lease_table::StoreTime> at = {};
};

// A lock as stores keep it in one text: local:// in a file, sqlite:// and the SQL servers in a
// column, etcd and ZooKeeper in their entries. In local:// and sqlite:// the times of its leases
// mean something only in the boot in which they were written.
struct StateFile {
  std::string name;
  BootStamp stamp;
  lease_table::StoredLock state;
};

std::string state_file_json(const StateFile& lease);
// Returns the text of a state file. Returns Errc::refused if the text would exceed
// limits::k_answer_bytes or limits::k_elements, because then no dlock could read it again.
Result<std::string> state_to_write(const StateFile& lease);

// Reads a state file. Unlike the parsers of single records, returns nullopt if a field is missing
// or wrong: a guess about who holds a lock could admit a second holder. If the format is later than
// k_layout, reads only the name, the boot id and the format's version.
std::optional<StateFile> parse_state_file(std::string_view json);

}  // namespace dlock
