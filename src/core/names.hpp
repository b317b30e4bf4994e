// SPDX-License-Identifier: MIT
// Names of locks, owners and holds, each checked once when it is made; and the holds that a process
// inherits from the dlock runs above it.
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

// Returns the text of DLOCK_NAME: a single name unchanged; several names separated by a space, with
// the blanks and % in them percent-encoded.
std::string join_names(const std::vector<LockName>& names);

// A number that grows with every grant of a name. 0: the hold has no token, because another program
// took it or the store has no tokens (StoreTraits).
using FencingToken = std::uint64_t;

// "<uuid>:<pid>": the store's name for a holder, with 122 random bits from getrandom(2). Unique for
// every hold (rule 11), but a nested run uses its ancestor's.
using OwnerId = std::string;
OwnerId make_owner_id(long pid);

// The unique part of a hold's id: 16 random hexadecimal digits. The whole id, "<owner>#<serial>",
// is the name of a field in the store.
using HoldSerial = std::string;
HoldSerial make_hold_serial();
std::string hold_id(const OwnerId& owner, const HoldSerial& serial);
// Returns whether the hold belongs to this owner.
bool is_hold_of(std::string_view hold_id, const OwnerId& owner);

// Returns the serial of the hold that `dlock acquire` takes with this owner: "a" and the last 16
// digits of the uuid. So `dlock renew` and `dlock release` need only the owner to name the hold,
// unless the acquire joined another owner's hold. Empty: dlock did not make this owner.
HoldSerial serial_of(const OwnerId& owner);

// Returns whether the serial has the form that `acquire` uses.
bool is_of_acquire(const HoldSerial& serial);

// One hold of a dlock run above this one, as listed in DLOCK_HOLDS. The list may be wrong, so the
// store verifies a nested claim.
struct AncestorHold {
  std::string store;  // the store that has the hold, without a password
  std::string key;    // the name as the store knows it
  OwnerId owner;
  HoldSerial serial;
  bool operator==(const AncestorHold&) const = default;
};

// DLOCK_HOLDS: entries "store|key|owner|serial", percent-encoded, separated by spaces, the nearest
// ancestor last; at most 1024 entries and 100 kB. Malformed entries are skipped.
std::vector<AncestorHold> parse_holds(std::string_view text);
std::string format_holds(const std::vector<AncestorHold>& holds);

}  // namespace dlock
