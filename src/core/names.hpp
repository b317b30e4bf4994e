// SPDX-License-Identifier: MIT
// The names the core deals in, each checked once when it is made: the lock, its owner, a hold, and
// what a process inherits from the dlock runs above it.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// What many ask for: 1..512 bytes, any bytes but NUL, CR and LF. Bytes are compared, nothing is
// normalised, so two different names are never one lock.
class LockName {
 public:
  static Result<LockName> parse(std::string_view text);
  const std::string& text() const { return text_; }
  bool operator==(const LockName&) const = default;

 private:
  explicit LockName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// As in DLOCK_NAME: one name as it is; of several, blanks and % are percent-encoded, and one space
// stands between two.
std::string join_names(const std::vector<LockName>& names);

// A number that grows with every grant of a name; 0 means none (a Java hold, an old store).
using FencingToken = std::uint64_t;

// "<uuid>:<pid>": how a store knows a holder. Unique for every hold (faults.md 2.3-11); only a
// nested run shares its ancestor's. 122 random bits from getrandom(2).
using OwnerId = std::string;
OwnerId make_owner_id(long pid);

// The part of a hold's id that is its own: 16 hexadecimal digits, random. The whole id is
// "<owner>#<serial>", the field in the store.
using HoldSerial = std::string;
HoldSerial make_hold_serial();
std::string hold_id(const OwnerId& owner, const HoldSerial& serial);
// Whether that hold is one of this owner.
bool is_hold_of(std::string_view hold_id, const OwnerId& owner);

// An acquire has a serial that its owner tells, so that the owner alone is enough later, unless it
// has joined a hold of another owner: "a" and the last 16 digits of the uuid. Empty: no owner of
// dlock's making.
HoldSerial serial_of(const OwnerId& owner);

// By its form: an acquire took this hold, not a run.
bool is_of_acquire(const HoldSerial& serial);

// One hold of a dlock run above us, as listed in DLOCK_HOLDS. It is a hint only: a nested claim is
// verified in the store.
struct AncestorHold {
  std::string store;  // where it is held, without a password
  std::string key;    // the name as the store knows it
  OwnerId owner;
  HoldSerial serial;
  bool operator==(const AncestorHold&) const = default;
};

// DLOCK_HOLDS: entries "store|key|owner|serial", percent-encoded, separated by spaces, the nearest
// ancestor last; at most 1024, and no more than fit into 100 kB. Malformed entries are ignored.
std::vector<AncestorHold> parse_holds(std::string_view text);
std::string format_holds(const std::vector<AncestorHold>& holds);

}  // namespace dlock
