// SPDX-License-Identifier: MIT
// Rounds: the names under which a claim asks the servers of a quorum. A round that was not granted
// releases its holds, and the next round has another serial: a late copy of a request or a release
// of the old round must match no hold of the new one. An owner made by `acquire` contains the
// serial, so its owner changes with the round as well. The place in line stays the claim's.
#pragma once

#include "core/lock_store.hpp"

namespace dlock::quorum {

class Rounds {
 public:
  // The claim as its present round sends it; the first round uses the claim's own names.
  Claim round_of(const Claim& claim);
  // The round is used up.
  void next();

 private:
  HoldSerial claim_;  // the newest claim, by its own serial
  OwnerId owner_;
  HoldSerial serial_;
};

}  // namespace dlock::quorum
