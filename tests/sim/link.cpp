// SPDX-License-Identifier: MIT
#include "sim/link.hpp"

#include <utility>

#include "support/world_words.hpp"

namespace dlock::sim {

using namespace std::chrono_literals;
using What = action::Ask::What;

namespace {

bool listens(What what) {
  return what == What::watch || what == What::watch_hold;
}

}  // namespace

std::string Link::words_for(What what) const {
  return scene_.judge.who(hold_) + ": " + test::word_for(what);
}

void Link::ask(const action::Ask& what) {
  asks_.push_back(what);
  if (asks_.size() == 1) return begin();
  if (gives_way(asks_.front().what, what.what)) cancel();
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
    if (listens(ask.what)) {
      const Subscriber* const subscriber = scene_.server.subscriber(subscriber_);
      const bool there =
          ask.what == What::watch_hold && subscribed_ && subscriber && subscriber->changes;
      return there ? finish(call, event::Watched{Watching{}}) : connect(call);
    }
    if (!waits) return connected_ ? send(call) : connect(call);
    if (!subscribed_) return fail(call, {Errc::unavailable, "no subscription"});
    wake_waiter();
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
    if (refused) return fail(call, {Errc::not_listening, "cannot connect"});
    if (listens(asks_.front().what)) return subscribe(call);
    connected_ = true;
    send(call);
  });
}

// Not a write of the store: nothing can go wrong with it but that it does not come about. The old
// subscription ends when there is a new one, so that no turn falls between them.
void Link::subscribe(std::uint64_t call) {
  const action::Ask& ask = asks_.front();
  const bool holder = ask.what == What::watch_hold;
  const bool changes = hearing_ == Hearing::all && (holder || ask.front);
  StoreAnswer answer = event::Watched{Watching{}};
  if (hearing_ == Hearing::nothing || (holder && !changes)) {
    answer = event::Watched{Error{Errc::denied, "not for you"}};
  } else {
    if (ask.front && !changes) answer = event::Watched{Watching{"not for you"}};
    const auto before = subscriber_;
    subscriber_ = scene_.server.listen({.whose = hold_,
                                        .names = holder ? held_.names : wants_.names,
                                        .turns = !holder,
                                        .releases = ask.front,
                                        .changes = changes,
                                        .hear = {}});
    scene_.server.subscriber(subscriber_)->hear = [this, mine = subscriber_](HandOff word) {
      hear(mine, word);
    };
    scene_.server.hang_up(before);
  }
  if (weather_.answers_lost > 0) return;
  process_.later(trip(), [this, call, answer] {
    if (call != call_) return;
    subscribed_ = subscriber_ != 0;
    finish(call, answer);
  });
}

void Link::hear(std::uint64_t subscriber, HandOff word) {
  if (subscriber != subscriber_ || weather_.answers_lost > 0 || weather_.messages_lost > 0) return;
  process_.later(trip() + weather_.answers_late, [this, subscriber, word] {
    if (subscriber != subscriber_) return;
    message_ = std::min(message_, word);
    wake_waiter();
  });
}

void Link::wake_waiter() {
  if (message_ == HandOff::timed_out) return;
  if (asks_.empty() || asks_.front().what != What::await_hand_off) return;
  finish(call_, event::HandedOff{std::exchange(message_, HandOff::timed_out)});
}

void Link::close_ears() {
  subscribed_ = false;
  message_ = HandOff::timed_out;
  const auto subscriber = std::exchange(subscriber_, 0);
  if (weather_.requests_lost > 0) return half_open_.push_back(subscriber);
  scene_.server.hang_up(subscriber);
}

void Link::forget_half_open() {
  for (const auto subscriber : std::exchange(half_open_, {}))
    scene_.server.hang_up(subscriber);
}

void Link::break_ears() {
  scene_.server.hang_up(std::exchange(subscriber_, 0));
  subscribed_ = false;
  if (asks_.empty()) return;
  const What what = asks_.front().what;
  if (!listens(what) && what != What::await_hand_off) return;
  process_.later(process_.lag(), [this, call = call_] {
    fail(call, {Errc::unavailable, "the connection was lost"});
  });
}

// The clock is read, then the bytes go: between the two we may be stopped.
void Link::send(std::uint64_t call) {
  const Sent sent{call, asks_.front(), process_.shown(), scene_.healed, held_};
  process_.reached(Process::Point::send);
  process_.later(process_.lag() / 10, [this, sent] {
    if (sent.call == call_) depart(sent);
  });
}

void Link::depart(const Sent& sent) {
  scene_.trace.note(scene_.now(), [&] { return words_for(sent.ask.what) + " sent"; });
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
  if (sent.ask.what == What::acquire && sent.call != call_) scene_.judge.overtaken(hold_);
  const bool refused = scene_.server.refusing > 0;
  const bool behind = weather_.behind > 0;
  Said said = refused  ? Said{test::failed(sent.ask.what, {scene_.server.refusal, "not now"}), {}}
              : behind ? ask_old_master(sent)
                       : carry_out(sent);
  scene_.trace.note(scene_.now(), [&] {
    return "store: " + words_for(sent.ask.what) + (copy ? " (a copy)" : "") +
           test::mark_of(said.answer);
  });
  if (scene_.rules.replicated)
    scene_.agenda.after(scene_.dice.short_or(50ms), [this] { scene_.server.copy(); });
  if (copy || weather_.answers_lost > 0) return;
  confirm(sent, std::move(said));
}

// A grant and a renewal count when the replica has them. With the old master there is none.
void Link::confirm(const Sent& sent, Said said) {
  const auto* const acquired = std::get_if<event::Acquired>(&said.answer);
  const auto* const renewed = std::get_if<event::Renewed>(&said.answer);
  const bool granted =
      acquired && acquired->answer && std::holds_alternative<Grant>(*acquired->answer);
  const bool extended =
      renewed && renewed->answer && renewed->answer->verdict == RenewVerdict::renewed;
  const Rules& rules = scene_.rules;
  if (!rules.replicated || !rules.acknowledged || (!granted && !extended))
    return reply(sent, std::move(said));
  scene_.server.when_copied([this, sent, said = std::move(said)](bool copied) {
    if (copied) return reply(sent, said);
    reply(sent, {test::failed(sent.ask.what, {Errc::unavailable, "only 0 of 1 replicas"}), {}});
  });
}

void Link::reply(const Sent& sent, Said said) {
  const Duration back = trip() + weather_.answers_late;
  scene_.agenda.after(back, [this, call = sent.call, said = std::move(said)] {
    process_.later(process_.lag() / 10, [this, call, said] {
      if (call != call_) return;  // that connection is gone
      if (said.not_yours_at) scene_.judge.told_not_yours(hold_, *said.not_yours_at);
      finish(call, said.answer);
    });
  });
}

StoreAnswer Link::acquire(const Sent& sent) {
  auto reply = scene_.server.store.acquire(hold_, wants_, ttl_, sent.ask.queueing);
  if (auto* error = std::get_if<Error>(&reply)) return event::Acquired{std::move(*error)};
  if (auto* refusal = std::get_if<Refusal>(&reply))
    return event::Acquired{AcquireReply(std::move(*refusal))};
  if (auto* done = std::get_if<Done>(&reply)) return event::Acquired{AcquireReply(*done)};
  const Taken& taken = std::get<Taken>(reply);
  Grant grant{.holds = {}, .sent_at = sent.sent_at};
  for (std::size_t i = 0; i < taken.names.size(); ++i) {
    grant.holds.push_back({.name = *LockName::parse(name_text(taken.names[i])),
                           .token = taken.tokens[i],
                           .ttl = ttl_,
                           .mode = wants_.mode,
                           .slot = taken.slots[i]});
  }
  return event::Acquired{AcquireReply(std::move(grant))};
}

Link::Said Link::verdict(const Sent& sent) {
  ModelStore& store = scene_.server.store;
  const bool look = sent.ask.what == What::check;
  RenewReply reply = look ? store.check(hold_, sent.held) : store.renew(hold_, sent.held, ttl_);
  reply.sent_at = sent.sent_at;
  Said said{event::Renewed{reply}, {}};
  if (reply.verdict == RenewVerdict::lost) said.not_yours_at = process_.shown();
  return said;
}

// The old master does not know of the promotion: it answers from its own data, and its replica is
// gone.
Link::Said Link::ask_old_master(const Sent& sent) {
  const bool renews = sent.ask.what == What::renew && !scene_.rules.acknowledged;
  if (renews) return {event::Renewed{RenewReply{.sent_at = sent.sent_at}}, {}};
  return {test::failed(sent.ask.what, {Errc::unavailable, "only 0 of 1 replicas"}), {}};
}

Link::Said Link::carry_out(const Sent& sent) {
  ModelStore& store = scene_.server.store;
  switch (sent.ask.what) {
    case What::acquire:
      return {acquire(sent), {}};
    case What::renew:
    case What::check:
      return verdict(sent);
    case What::release: {
      const ReleaseVerdict verdict = store.release(hold_, sent.held, sent.ask.release_options);
      Said said{event::Released{verdict}, {}};
      const bool surprise =
          verdict == ReleaseVerdict::not_held && !scene_.judge.was_released(hold_);
      if (surprise) said.not_yours_at = process_.shown();
      return said;
    }
    case What::undo:
      (void)store.release(hold_, wants_, {});
      store.leave(hold_);
      return {event::Released{ReleaseVerdict::released}, {}};
    case What::leave:
      store.leave(hold_);
      return {event::Released{ReleaseVerdict::not_held}, {}};
    case What::inspect:
      return {event::Inspected{inspected()}, {}};
    case What::watch:
    case What::watch_hold:
    case What::await_hand_off:
    case What::call:
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
  break_ears();
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
  if (listens(what)) {
    close_ears();
  } else if (what != What::await_hand_off) {
    connected_ = false;
  } else if (error.code != Errc::cancelled) {
    close_ears();
  }
  finish(call, test::failed(what, std::move(error)));
}

void Link::finish(std::uint64_t call, StoreAnswer answer) {
  if (const auto* const acquired = std::get_if<event::Acquired>(&answer)) {
    const auto* const grant = acquired->answer ? std::get_if<Grant>(&*acquired->answer) : nullptr;
    if (grant != nullptr && wants_.one) held_.names = {name_in(grant->holds.front().name.text())};
  }
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
