// SPDX-License-Identifier: MIT
#include "sim/link.hpp"

#include <utility>

#include "fake/world_words.hpp"

namespace dlock::sim {

using namespace std::chrono_literals;
using What = action::Ask::What;

namespace {

StoreAnswer failed(What what, Error error) {
  switch (what) {
    case What::acquire:
      return event::Acquired{std::move(error)};
    case What::watch:
      return event::Watched{std::move(error)};
    case What::await_hand_off:
      return event::HandedOff{std::move(error)};
    case What::renew:
      return event::Renewed{std::move(error)};
    case What::release:
    case What::undo:
      break;
  }
  return event::Released{std::move(error)};
}

Holding busy(Duration lease_left) {
  return {.kind = Holding::Kind::lock, .type = "hash", .lease_left = lease_left};
}

}  // namespace

std::string Link::words_for(What what) const {
  return scene_.judge.who(hold_) + ": " + test::word_for(what);
}

void Link::ask(const action::Ask& what) {
  asks_.push_back(what);
  if (asks_.size() == 1) begin();
}

std::optional<StoreAnswer> Link::next_answer() {
  if (answers_.empty()) return {};
  std::optional<StoreAnswer> answer(std::move(answers_.front()));
  answers_.pop_front();
  return answer;
}

void Link::begin() {
  const auto call = ++call_;
  process_.later(process_.lag(), [this, call] {
    if (call != call_) return;
    const action::Ask& ask = asks_.front();
    const bool waits = ask.what == What::await_hand_off;
    process_.at_local(ask.limit, [this, call, waits] {
      if (!waits) return fail(call, {Errc::timed_out, "no answer"});
      finish(call, event::HandedOff{HandOff::timed_out});
    });
    if (ask.what == What::watch) return connect(call);
    if (!waits) return connected_ ? send(call) : connect(call);
    if (!subscribed_) return fail(call, {Errc::unavailable, "no subscription"});
    if (message_) wake_waiter();
  });
}

Duration Link::trip() {
  Dice& dice = scene_.dice;
  if (weather_.slow > 0) return dice.short_or(weather_.slowest);
  return dice.between(20us, dice.one_in(20) ? 5ms : 500us);
}

void Link::connect(std::uint64_t call) {
  if (weather_.requests_lost > 0 || weather_.answers_lost > 0) return;  // until the limit
  const bool refused = weather_.unreachable > 0;
  process_.later(trip() + trip(), [this, call, refused] {
    if (call != call_) return;
    if (refused) return fail(call, {Errc::unavailable, "cannot connect"});
    if (asks_.front().what == What::watch) return subscribe(call);
    connected_ = true;
    send(call);
  });
}

// Not a write of the store: nothing can go wrong with it but that it does not come about.
void Link::subscribe(std::uint64_t call) {
  const auto mine = ++subscription_;
  message_ = false;
  scene_.server.subscribers.emplace_back([this, mine] {
    if (mine != subscription_ || weather_.answers_lost > 0 || process_.dead()) return;
    process_.later(trip(), [this, mine] {
      if (mine == subscription_) wake_waiter();
    });
  });
  if (weather_.answers_lost > 0) return;
  process_.later(trip(), [this, call] {
    if (call != call_) return;
    subscribed_ = true;
    finish(call, event::Watched{{}});
  });
}

void Link::wake_waiter() {
  message_ = true;
  if (asks_.empty() || asks_.front().what != What::await_hand_off) return;
  message_ = false;
  finish(call_, event::HandedOff{HandOff::woken});
}

// The clock is read, then the bytes go: between the two we may be stopped.
void Link::send(std::uint64_t call) {
  const Sent sent{call, asks_.front().what, process_.shown(), scene_.healed};
  process_.reached(Process::Point::send);
  process_.later(process_.lag() / 10, [this, sent] {
    if (sent.call == call_) depart(sent);
  });
}

void Link::depart(const Sent& sent) {
  scene_.trace.note(scene_.now(), [&] { return words_for(sent.what) + " sent"; });
  if (weather_.requests_lost > 0) return;
  const bool copied = weather_.copied > 0;
  scene_.agenda.after(
      trip(), [this, sent] { scene_.server.when_up([this, sent] { arrive(sent, false); }); });
  if (!copied) return;
  scene_.agenda.after(trip() + scene_.dice.short_or(2 * ttl_), [this, sent] {
    scene_.server.when_up([this, sent] { arrive(sent, true); });
  });
}

void Link::arrive(const Sent& sent, bool copy) {
  if (scene_.healed && !sent.healed) return;
  const bool refused = scene_.server.refusing > 0;
  Said said =
      refused ? Said{failed(sent.what, {scene_.server.refusal, "not now"}), {}} : carry_out(sent);
  scene_.trace.note(scene_.now(), [&] {
    return "store: " + words_for(sent.what) + (copy ? " (a copy)" : "") +
           test::mark_of(said.answer);
  });
  if (copy || weather_.answers_lost > 0) return;
  const Duration back = trip() + weather_.answers_late;
  scene_.agenda.after(back, [this, call = sent.call, said = std::move(said)] {
    process_.later(process_.lag() / 10, [this, call, said] {
      if (call != call_) return;  // that connection is gone
      if (said.not_yours_at) scene_.judge.told_not_yours(hold_, *said.not_yours_at);
      finish(call, said.answer);
    });
  });
}

Link::Said Link::carry_out(const Sent& sent) {
  ModelStore& store = scene_.server.store;
  switch (sent.what) {
    case What::acquire: {
      const auto token = store.acquire(hold_, ttl_);
      if (!token) return {event::Acquired{AcquireReply(busy(store.lease_left()))}, {}};
      static const LockName k_name = *LockName::parse("n");
      Hold hold{.name = k_name, .token = *token, .ttl = ttl_};
      return {event::Acquired{AcquireReply(Grant{std::move(hold), sent.sent_at})}, {}};
    }
    case What::renew: {
      const RenewVerdict verdict = store.renew(hold_, ttl_);
      Said said{event::Renewed{RenewReply{verdict, sent.sent_at, ""}}, {}};
      if (verdict == RenewVerdict::lost) said.not_yours_at = process_.shown();
      return said;
    }
    case What::release: {
      const ReleaseVerdict verdict = store.release(hold_);
      Said said{event::Released{verdict}, {}};
      const bool surprise =
          verdict == ReleaseVerdict::not_held && !scene_.judge.was_released(hold_);
      if (surprise) said.not_yours_at = process_.shown();
      return said;
    }
    case What::undo:
      (void)store.release(hold_);
      return {event::Released{ReleaseVerdict::released}, {}};
    case What::watch:
    case What::await_hand_off:
      break;
  }
  DLOCK_ASSERT(false);
}

void Link::cancel() {
  if (asks_.empty()) return;
  process_.later(process_.lag(), [this, call = call_] {
    fail(call, {Errc::cancelled, "stopped waiting"});
  });
}

void Link::reset() {
  ++subscription_;
  subscribed_ = false;
  if (asks_.empty()) {
    connected_ = false;
    return;
  }
  process_.later(process_.lag(), [this, call = call_] {
    fail(call, {Errc::unavailable, "the connection was lost"});
  });
}

void Link::fail(std::uint64_t call, Error error) {
  if (call != call_ || asks_.empty()) return;
  const What what = asks_.front().what;
  if (what == What::watch || what == What::await_hand_off) {
    ++subscription_;
    subscribed_ = false;
  } else {
    connected_ = false;
  }
  finish(call, failed(what, std::move(error)));
}

void Link::finish(std::uint64_t call, StoreAnswer answer) {
  if (call != call_ || asks_.empty()) return;
  scene_.trace.note(scene_.now(), [&] {
    return words_for(asks_.front().what) + " answered" + test::mark_of(answer);
  });
  asks_.pop_front();
  ++call_;  // whatever else comes for this one is too late
  answers_.push_back(std::move(answer));
  on_answer();
  if (!asks_.empty()) begin();
}

}  // namespace dlock::sim
