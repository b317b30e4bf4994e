// SPDX-License-Identifier: MIT
#include "core/quorum_rounds.hpp"

#include <charconv>

namespace dlock::quorum {

namespace {

long pid_of(const OwnerId& owner) {
  long pid = 0;
  const auto colon = owner.rfind(':');
  if (colon != OwnerId::npos)
    std::from_chars(owner.data() + colon + 1, owner.data() + owner.size(), pid);
  return pid;
}

}  // namespace

Claim Rounds::round_of(const Claim& claim) {
  if (claim_ != claim.serial) {
    claim_ = claim.serial;
    owner_ = claim.owner;
    serial_ = claim.serial;
  }
  Claim round = claim;
  if (serial_ != claim.serial) round.stands_as = waiter_id(claim);
  round.owner = owner_;
  round.serial = serial_;
  return round;
}

void Rounds::next() {
  if (is_of_acquire(claim_)) {
    owner_ = make_owner_id(pid_of(owner_));
    serial_ = serial_of(owner_);
  } else {
    serial_ = make_hold_serial();
  }
}

}  // namespace dlock::quorum
