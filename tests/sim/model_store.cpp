// SPDX-License-Identifier: MIT
#include "sim/model_store.hpp"

#include "base/duration.hpp"

#include <algorithm>

namespace dlock::sim {

using namespace std::chrono_literals;

// In whole milliseconds of its clock, as Redis counts, and rounded against us.
Time ModelStore::end_of(Duration ttl) const {
  return std::chrono::floor<std::chrono::milliseconds>(now()) + ttl;
}

void ModelStore::look() {
  if (owner_ && now() >= expires_) {
    const HoldId owner = *owner_;
    make_free();
    judge_.lapsed(owner, std::clamp(clock_.truly(expires_), looked_at_, agenda_.now()));
    trace_.note(agenda_.now(),
                [&] { return "store: the lease of " + judge_.who(owner) + " ended"; });
  }
  looked_at_ = agenda_.now();
}

void ModelStore::make_free() {
  owner_.reset();
  revoked_ = false;
}

std::optional<FencingToken> ModelStore::acquire(HoldId hold, Duration ttl) {
  look();
  if (!owner_) {
    const auto clock_us = std::chrono::floor<std::chrono::microseconds>(now()).time_since_epoch();
    token_ = std::max(token_ + 1, static_cast<FencingToken>(clock_us.count()));
    owner_ = hold;
    expires_ = end_of(ttl);
    judge_.granted(hold, token_);
    return token_;
  }
  if (*owner_ != hold || revoked_) return {};
  if (replay_extends) expires_ = std::max(expires_, end_of(ttl));
  return token_;
}

RenewVerdict ModelStore::renew(HoldId hold, Duration ttl) {
  look();
  if (owner_ != hold) return RenewVerdict::lost;
  if (revoked_) return RenewVerdict::revoked;
  expires_ = std::max(expires_, end_of(ttl));
  return RenewVerdict::renewed;
}

ReleaseVerdict ModelStore::release(HoldId hold) {
  look();
  if (owner_ != hold) return ReleaseVerdict::not_held;
  make_free();
  judge_.released(hold);
  if (on_free) on_free();
  return ReleaseVerdict::released;
}

void ModelStore::revoke() {
  look();
  revoked_ = owner_.has_value();
}

void ModelStore::remove(bool told) {
  look();
  if (!owner_) return;
  judge_.lapsed(*owner_, agenda_.now());
  make_free();
  if (told && on_free) on_free();
}

void ModelStore::forget() {
  remove(false);
  token_ = 0;
}

void ModelStore::step_clock(Duration forward) {
  look();
  clock_.step(forward);
}

std::optional<HoldId> ModelStore::holder() {
  look();
  return owner_;
}

Duration ModelStore::lease_left() {
  look();
  return owner_ ? expires_ - now() : 0ns;
}

}  // namespace dlock::sim
