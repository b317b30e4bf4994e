// SPDX-License-Identifier: MIT
// Writes stored locks as JSON, and reads them. Reading accepts hostile text of at most 4 MiB; the
// rest is as in record_json.hpp, but names of locks are percent-encoded, so they are kept exactly.
#pragma once

#include "base/result.hpp"
#include "store/table/stored_lock.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

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
