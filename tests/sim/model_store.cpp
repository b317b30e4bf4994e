// SPDX-License-Identifier: MIT
#include "sim/model_store.hpp"

#include "base/duration.hpp"

#include <algorithm>

namespace dlock::sim {

using namespace std::chrono_literals;

namespace {
constexpr Duration k_silence = 10s;  // after which a waiter is taken for dead
constexpr Duration k_turn = 1s;
}  // namespace

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
    on_change({}, false);
  }
  looked_at_ = agenda_.now();
}

void ModelStore::make_free() {
  owner_.reset();
  revoked_ = false;
}

std::optional<FencingToken> ModelStore::acquire(HoldId hold, Duration ttl, Stand how) {
  look();
  judge_.asked_for();
  if (!owner_ && is_next(hold)) {
    const auto clock_us = std::chrono::floor<std::chrono::microseconds>(now()).time_since_epoch();
    token_ = std::max(token_ + 1, static_cast<FencingToken>(clock_us.count()));
    owner_ = hold;
    expires_ = end_of(ttl);
    judge_.granted(hold, token_);
    step_out(hold);
    on_change(hold, false);
    return token_;
  }
  if (owner_ == hold && !revoked_) {
    if (replay_extends) expires_ = std::max(expires_, end_of(ttl));
    step_out(hold);
    return token_;
  }
  forget_silent();
  if (how != Stand::no) stand(hold, how == Stand::polling);
  return {};
}

RenewVerdict ModelStore::check(HoldId hold) {
  look();
  if (owner_ != hold) return RenewVerdict::lost;
  return revoked_ ? RenewVerdict::revoked : RenewVerdict::held;
}

RenewVerdict ModelStore::renew(HoldId hold, Duration ttl) {
  const RenewVerdict verdict = check(hold);
  if (verdict != RenewVerdict::held) return verdict;
  expires_ = std::max(expires_, end_of(ttl));
  on_change(hold, false);
  return RenewVerdict::renewed;
}

ReleaseVerdict ModelStore::release(HoldId hold) {
  look();
  if (owner_ != hold) return ReleaseVerdict::not_held;
  make_free();
  judge_.released(hold);
  on_change(hold, true);
  call_first();
  return ReleaseVerdict::released;
}

// --- the line --------------------------------------------------------------------------------

void ModelStore::leave(HoldId hold) {
  look();
  const bool stood = place(hold) > 0;
  step_out(hold);
  if (stood) judge_.left_line(hold);
  if (!owner_ && turns_passed_on) call_first();
}

std::size_t ModelStore::place(HoldId hold) const {
  for (std::size_t i = 0; i < line_.size(); ++i)
    if (line_[i].who == hold) return i + 1;
  return 0;
}

std::optional<HoldId> ModelStore::first() const {
  return line_.empty() ? std::nullopt : std::optional(line_.front().who);
}

// Of a free lock: nobody who lives stands before it. Whoever does is called.
bool ModelStore::is_next(HoldId hold) {
  forget_silent();
  if (first().value_or(hold) == hold) return true;
  call_first();
  return first().value_or(hold) == hold;
}

void ModelStore::stand(HoldId hold, bool polls) {
  if (place(hold) == 0) {
    line_.push_back({.who = hold});
    judge_.stood(hold);
  }
  Waiting& entry = line_[place(hold) - 1];
  entry.polls = polls;
  entry.lives_until = now() + k_silence;
}

void ModelStore::step_out(HoldId hold) {
  std::erase_if(line_, [&](const Waiting& one) { return one.who == hold; });
}

void ModelStore::forget_silent() {
  const auto silent = [this](const Waiting& one) {
    if (one.lives_until >= now()) return false;
    judge_.lost_place(one.who, "by silence");
    return true;
  };
  std::erase_if(line_, silent);
}

// The first has its turn, for a second; the one behind it comes by itself after that.
void ModelStore::call_first() {
  forget_silent();
  std::deque<Waiting> called;
  if (!first_is_called && line_.size() > 1) std::swap(line_[0], line_[1]);
  while (!line_.empty() && called.size() < 2) {
    Waiting one = line_.front();
    line_.pop_front();
    const HandOff word = called.empty() ? HandOff::turn : HandOff::next;
    if (!call(one.who, word) && !one.polls) {
      judge_.lost_place(one.who, "as it did not listen");
      continue;
    }
    if (called.empty()) one.lives_until = std::min(one.lives_until, now() + k_turn);
    called.push_back(one);
  }
  if (!first_is_called && called.size() > 1) std::swap(called[0], called[1]);
  line_.insert(line_.begin(), called.begin(), called.end());
}

// --- others ----------------------------------------------------------------------------------

void ModelStore::revoke() {
  look();
  revoked_ = owner_.has_value();
  on_change({}, false);
}

void ModelStore::remove(bool told) {
  look();
  if (!owner_) return;
  judge_.taken_away(*owner_);
  make_free();
  on_change({}, told);
  if (told) call_first();
}

void ModelStore::forget() {
  remove(false);
  token_ = 0;
  line_.clear();
  judge_.line_forgotten();
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
  if (owner_) return expires_ - now();
  return line_.empty() ? 0ns : std::max<Duration>(line_.front().lives_until - now(), 0ns);
}

}  // namespace dlock::sim
