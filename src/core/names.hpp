// SPDX-License-Identifier: MIT
// The names that core uses, each checked once when it is made: the lock, its owner, a hold, and
// what a process inherits from the dlock runs above it.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// The name of a lock: 1..512 bytes, any bytes but NUL, CR and LF. Bytes are compared, nothing is
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

// As in DLOCK_NAME: a single name as it is; of several names, blanks and % are percent-encoded, and
// one space separates them.
std::string join_names(const std::vector<LockName>& names);

// A number that grows with every grant of a name; 0: none (a Java hold, an old store).
using FencingToken = std::uint64_t;

// "<uuid>:<pid>": the store's name for a holder. Unique for every hold (rule 11); only a nested run
// shares its ancestor's. 122 random bits from getrandom(2).
using OwnerId = std::string;
OwnerId make_owner_id(long pid);

// The unique part of a hold's id: 16 random hexadecimal digits. The whole id is "<owner>#<serial>",
// the field in the store.
using HoldSerial = std::string;
HoldSerial make_hold_serial();
std::string hold_id(const OwnerId& owner, const HoldSerial& serial);
// Whether the hold is this owner's.
bool is_hold_of(std::string_view hold_id, const OwnerId& owner);

// The serial of an `acquire` follows from its owner, so that the owner alone is enough later,
// unless it joined another owner's hold: "a" and the last 16 digits of the uuid. Empty: dlock did
// not make this owner.
HoldSerial serial_of(const OwnerId& owner);

// Whether an `acquire` took this hold, by the serial's form.
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
// ancestor last; at most 1024 and at most 100 kB. Malformed entries are ignored.
std::vector<AncestorHold> parse_holds(std::string_view text);
std::string format_holds(const std::vector<AncestorHold>& holds);

}  // namespace dlock
