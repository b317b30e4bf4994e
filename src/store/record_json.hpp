// SPDX-License-Identifier: MIT
// Writes records of holds, waiters and ends of runs as JSON, and reads them.
//
// Writing never fails. In texts, bytes that are not UTF-8 are replaced by U+FFFD.
//
// Reading accepts hostile text. It returns nullopt if the text is no record, or is larger than 64
// KiB, or exceeds the other limits of json_bounds.hpp. A field that is missing or has a wrong type
// gets its default value. Numbers and texts are limited
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

// Returns "machine":…,"guard":…,"group":…}, the rest of a record that says which processes a run
// has. renew.lua writes it behind the record. Empty if the processes are unknown.
std::string processes_json(const HolderInfo& who);

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

// Returns "outcome":…,"exit_status":…,"waited_ms":…}, the rest of a record that says how its run
// ended. release.lua writes it behind the record.
std::string end_json(const RunEnd& end);
// A record with such a rest. LastRun::ended_ms and later_is_silent stay empty.
struct ReportedEnd {
  LastRun run;
  FencingToken newest = 0;           // the largest token of all runs that have reported their end
  std::chrono::milliseconds keep{};  // for how long it is remembered, from the end on
};
std::optional<ReportedEnd> parse_end(std::string_view json);

// Reads the text of a waiter. Waiter::since_ms stays 0, because the text does not contain the time.
std::optional<Waiter> parse_waiter(std::string_view json);
// Returns {"mode":"slots","slots":…, followed by the fields of holder_json() without "ttl_ms". A
// waiter for a plain lock has no "mode"; only a waiter for slots has "slots", their number.
std::string waiter_json(const Waiter& waiter);

// Returns {"waiter":"<owner>#<serial>","since_ms":…,"several":true, followed by the fields of
// waiter_json(). Only a waiter for several names has "several". The text contains neither the
// waiter's arrival nor the time until which the waiter counts as alive.
std::string place_json(const lease_table::Place& place);
std::optional<lease_table::Place> parse_place(std::string_view json);

}  // namespace dlock
