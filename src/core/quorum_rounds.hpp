// SPDX-License-Identifier: MIT
// Rounds: the owner and the serial that a claim has in each round. A round asks all servers of a
// quorum. A round that was not granted releases its holds, and the next round has another serial,
// so that a late copy of an old request or release matches no new hold.
// An owner made by `acquire` contains the serial, so it changes with the round as well. The claim
// keeps its place in line.
#pragma once

#include "core/lock_store.hpp"

namespace dlock::quorum {

class Rounds {
 public:
  // Returns the claim as the present round sends it. The first round uses the claim's own owner and
  // serial.
  Claim round_of(const Claim& claim);
  // Begins the next round.
  void next();

 private:
  HoldSerial claim_;  // the claim's own serial, which round_of() was given
  OwnerId owner_;
  HoldSerial serial_;
};

}  // namespace dlock::quorum
