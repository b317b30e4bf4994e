// SPDX-License-Identifier: MIT
#include "core/run_session.hpp"

#include "base/duration.hpp"
#include "core/backoff.hpp"
#include "core/earliest.hpp"
#include "core/run_end.hpp"
#include "core/signal_policy.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

using What = action::Ask::What;

// From TERM to KILL after a verdict that the lease is lost: another holder may already be running
// (rule 5).
constexpr Duration k_grace_after_verdict = 1s;

// A command without the lock has no lease that could end: its deadlines are so far away.
constexpr Duration k_never = 24h * 365 * 50;

}  // namespace

RunSession::RunSession(const RunTerms& terms, std::uint64_t seed, Time now)
    : terms_(terms),
      seed_(seed),
      wait_(terms.acquire, terms.notice_every, seed, now),
      stop_({.kill_after = terms.lease.kill_after(),
             .on_lost = terms.on_lost,
             .renew = terms.renew,
             .max_hold = terms.max_hold}),
      release_({.call_limit = terms.lease.call_limit(),
                .connect_timeout = terms.acquire.connect_timeout}) {}

std::vector<Action> RunSession::start(Time now) {
  if (terms_.splay > Duration::zero()) {
    delay_start(now);
  } else {
    follow(wait_.start(now), now);
  }
  return std::exchange(actions_, {});
}

// Handles the event, but checks the clock first: an overdue command is killed before the store is
// asked, and an answer that arrives after term_at does not end the stop (rule 8).
std::vector<Action> RunSession::on(Event event, Time now) {
  if (phase_ == Phase::finished) return {};
  if (has_child()) {
    take(stop_.check_lease(keeper_->clock(), keeper_->trouble(), now));
    take(stop_.check_time(keeper_->clock(), now));
    kill_if_due(now);
    // The lease of a child that survives SIGKILL is still renewed: no other holder may run beside
    // that child.
    keeper_->check_end(now, stop_.warned() || stop_.survived_kill());
  }
  std::visit([&](auto& what) { handle(what, now); }, event);
  if (has_child()) kill_if_due(now);
  if (has_child()) {
    if (const auto at = stop_.move_guard(keeper_->clock()))
      actions_.emplace_back(action::SetGuard{*at});
  }
  return std::exchange(actions_, {});
}

std::optional<Time> RunSession::safe_until() const {
  return keeper_ && !unlocked_at_ && keeper_->ours() ? std::optional(keeper_->clock().safe_until())
                                                     : std::nullopt;
}

std::optional<Time> RunSession::next_deadline() const {
  switch (phase_) {
    case Phase::delaying:
      return starts_at_;
    case Phase::acquiring:
      return wait_.next_deadline();
    case Phase::running:
    case Phase::leftovers:
      return earliest({keeper_->next_deadline(), stop_.next_deadline(keeper_->clock())});
    case Phase::giving_up:
    case Phase::releasing:
      return release_.next_deadline();
    case Phase::finished:
      break;
  }
  return {};
}

// --- acquiring -------------------------------------------------------------------------------

void RunSession::delay_start(Time now) {
  const Duration delay = Jitter(seed_).between(Duration::zero(), terms_.splay);
  phase_ = Phase::delaying;
  starts_at_ = now + delay;
  say({.kind = Notice::Kind::splay, .text = format_duration(terms_.splay), .span = delay});
}

// The time of the wait, and its limits, count from here on.
void RunSession::begin_wait(Time now) {
  wait_ = WaitLoop(terms_.acquire, terms_.notice_every, seed_, now);
}

void RunSession::follow(WaitLoop::Turn turn, Time now) {
  for (auto& one : turn.actions) {
    if (auto* const asked = std::get_if<action::Ask>(&one)) ask(*asked);
    if (auto* const said = std::get_if<action::Say>(&one)) say(std::move(said->notice));
  }
  if (turn.end) end_wait(std::move(*turn.end), now);
}

void RunSession::end_wait(WaitLoop::End end, Time now) {
  if (auto* const granted = std::get_if<step::Granted>(&end)) {
    take_grant(std::move(granted->grant), now);
  } else if (auto* const busy = std::get_if<step::Busy>(&end)) {
    const auto& newer = busy->refusal.superseded_by;
    if (newer) say({.kind = Notice::Kind::superseded, .text = who_text(*newer)});
    give_up({.kind = newer ? Outcome::Kind::superseded : Outcome::Kind::busy,
             .refusal = std::move(busy->refusal),
             .seen_ago = now - wait_.acquire().last_contact()},
            false,
            now);
  } else if (const auto* const done = std::get_if<step::Done>(&end)) {
    say({.kind = Notice::Kind::done_before,
         .text = format_duration(terms_.once_per),
         .span = done->ago});
    give_up({.kind = Outcome::Kind::done}, false, now);
  } else if (auto* const failed = std::get_if<step::Failed>(&end)) {
    fail(std::move(failed->error), now);
  }
}

void RunSession::fail(Error error, Time now) {
  const AcquireLoop& claim = wait_.acquire();
  const bool away = is_away(error) && !claim.had_contact() && !claim.maybe_held();
  if (away && terms_.on_unavailable == OnUnavailable::run) return start_unlocked(error, now);
  const bool skips = away && terms_.on_unavailable == OnUnavailable::skip;
  if (skips) say({.kind = Notice::Kind::unavailable, .text = error.text});
  give_up({.kind = skips ? Outcome::Kind::unavailable : Outcome::Kind::failed,
           .error = std::move(error)},
          false,
          now);
}

void RunSession::handle(event::Acquired& event, Time now) {
  if (phase_ == Phase::giving_up) {
    const Grant* const grant = event.answer ? std::get_if<Grant>(&*event.answer) : nullptr;
    if (grant != nullptr) note_grant(*grant, now);
    return answered_while_giving_up(grant != nullptr, !event.answer, now);
  }
  follow(wait_.on(std::move(event), now), now);
}

void RunSession::handle(event::Watched& event, Time now) {
  if (keeper_) {
    if (has_child()) take(keeper_->on_watched(event.answer, now), now);
    return;
  }
  if (phase_ == Phase::giving_up) return answered_while_giving_up(false, false, now);
  follow(wait_.on(event, now), now);
}

void RunSession::handle(event::HandedOff& event, Time now) {
  if (keeper_) {
    if (has_child()) take(keeper_->on_change(event.answer, now), now);
    return;
  }
  if (phase_ == Phase::giving_up) return answered_while_giving_up(false, false, now);
  follow(wait_.on(event, now), now);
}

void RunSession::note_grant(const Grant& grant, Time now) {
  const KeepTerms terms{.lease = terms_.lease, .renew = terms_.renew, .complete = grant.complete};
  keeper_.emplace(terms, grant.sent_at, now);
  keeper_->granted_at(grant.at);
  granted_at_ = now;
  stop_.granted(now);
  holds_ = grant.holds;
}

void RunSession::take_grant(Grant grant, Time now) {
  note_grant(grant, now);
  if (!keeper_->clock().may_start(now)) {
    outcome_ = {.kind = Outcome::Kind::failed,
                .error = {Errc::unavailable,
                          "the grant took " + format_duration(now - grant.sent_at) +
                              " to arrive: too slow for a lease of " +
                              format_duration(terms_.lease.ttl()) + "; use a longer --ttl"}};
    return begin_release(now);
  }
  phase_ = Phase::running;
  say({.kind = Notice::Kind::granted,
       .span = now - wait_.acquire().started_at(),
       .holds = grant.holds});
  const Time kill_at = stop_.start_guard(keeper_->clock());
  actions_.emplace_back(action::StartChild{std::move(grant.holds), kill_at});
}

// Ends a run that has no child: releases what the store may have granted and leaves the line, then
// finishes.
void RunSession::give_up(Outcome outcome, bool asking, Time now) {
  phase_ = Phase::giving_up;
  outcome_ = std::move(outcome);
  if (asking) return take(release_.cancel(now), now);
  answered_while_giving_up(false, false, now);
}

void RunSession::answered_while_giving_up(bool granted, bool unknown, Time now) {
  if (granted) return begin_release(now);
  phase_ = Phase::releasing;
  take(release_.drop_claim({.maybe_held = unknown || wait_.acquire().maybe_held(),
                            .queueing = wait_.acquire().queueing(),
                            .slowest_answer = wait_.slowest_answer()},
                           now),
       now);
}

// Starts the command without a grant. With --no-renew it is stopped when a lease would have ended.
void RunSession::start_unlocked(const Error& why, Time now) {
  unlocked_at_ = now;
  keeper_.emplace(KeepTerms{.lease = terms_.lease, .renew = false, .watch = false},
                  terms_.renew ? now + k_never : now,
                  now);
  stop_.granted(*unlocked_at_);
  phase_ = Phase::running;
  say({.kind = Notice::Kind::unlocked, .text = why.text});
  actions_.emplace_back(action::StartChild{{}, stop_.start_guard(keeper_->clock())});
}

// --- running ---------------------------------------------------------------------------------

void RunSession::handle(event::Renewed& event, Time now) {
  if (has_child()) take(keeper_->on_renewed(event.answer, now), now);
}

void RunSession::take(KeepStep step, Time now) {
  if (step.notice) {
    const Duration grace = terms_.lease.kill_after();
    const LeaseClock& clock = keeper_->clock();
    if (step.notice->kind == Notice::Kind::revoked) {
      take(stop_.lose_lease(std::move(*step.notice), grace, clock, now));
    } else if (step.notice->kind == Notice::Kind::lost) {
      const Duration shorter = std::min(grace, k_grace_after_verdict);
      take(stop_.lose_lease(std::move(*step.notice), shorter, clock, now));
    } else {
      say(std::move(*step.notice));
    }
  }
  if (step.ask) ask(*step.ask);
}

void RunSession::take(StopStep step) {
  if (step.notice) say(std::move(*step.notice));
  if (step.signal) signal_group(terms_.stop_signal, true);
}

void RunSession::kill_if_due(Time now) {
  if (!stop_.kill_due(now)) return;
  say(stop_.kill(now));
  actions_.emplace_back(action::SignalGroup{SIGKILL});
}

void RunSession::handle(const event::Signal& event, Time now) {
  if (has_child()) {
    const bool ends = asks_to_end(event.number);
    if (ends && !stop_.end_by_user(event.number, now)) return;
    const auto kind = ends ? Notice::Kind::signalled : Notice::Kind::passed_on;
    signal_group(event.number, wakes(event.number), kind);
  } else if (phase_ == Phase::delaying || phase_ == Phase::acquiring) {
    if (phase_ == Phase::delaying) begin_wait(now);
    const bool asking = phase_ == Phase::acquiring && wait_.asking();
    give_up({.kind = Outcome::Kind::signalled, .signal = event.number}, asking, now);
  } else {
    release_.hurry(now);
  }
}

void RunSession::handle(const event::StartFailed& event, Time now) {
  if (phase_ != Phase::running) return;
  outcome_ = {.kind = Outcome::Kind::failed, .error = event.error};
  begin_release(now);
}

void RunSession::handle(event::TakenOver /*event*/, Time now) {
  if (phase_ != Phase::running) return;
  outcome_ = {.kind = Outcome::Kind::taken};
  finish(now);
}

void RunSession::handle(const event::ChildEnded& event, Time now) {
  if (phase_ != Phase::running) return;
  outcome_ = {.kind = Outcome::Kind::child, .child = event.status};
  say({.kind = Notice::Kind::ended, .child = event.status});
  // After Ctrl-C a shell checks whether we died by INT, so report INT even if our KILL ended the
  // command.
  const bool by_our_kill = event.status == ChildStatus{ChildStatus::Kind::signalled, SIGKILL};
  const bool by_ctrl_c = stop_.user_signal() == SIGINT && stop_.kill_sent();
  if (by_ctrl_c && by_our_kill) outcome_.child.value = SIGINT;
  if (event.strays > 0) say({.kind = Notice::Kind::strays, .count = event.strays});
  if (!event.group_alive) return begin_release(now);
  phase_ = Phase::leftovers;
  if (stop_.kill_sent()) {
    // Our KILL may have reached only the command's group. The command of a nested run is in a group
    // of its own. KILL is sent once more, because it reaches that group, too, now that our command
    // has ended.
    return signal_group(SIGKILL, false);
  }
  if (stop_.by_lock()) return;  // the processes have been signalled, and the KILL is scheduled
  if (terms_.contain) return say({.kind = Notice::Kind::outlived});
  say({.kind = Notice::Kind::leftovers});
  stop_.end_leftovers(now);
  signal_group(SIGTERM, true);
}

void RunSession::handle(event::GroupGone /*event*/, Time now) {
  if (phase_ == Phase::leftovers) begin_release(now);
}

// on() has checked the lease before it called this. Nothing else is due before the child continues.
void RunSession::handle(event::Resumed /*event*/, Time /*now*/) {}

void RunSession::handle(event::Tick event, Time now) {
  if (phase_ == Phase::delaying) {
    phase_ = Phase::acquiring;
    begin_wait(now);
    follow(wait_.start(now), now);
  } else if (phase_ == Phase::acquiring) {
    follow(wait_.on(event, now), now);
  } else if (has_child()) {
    take(keeper_->on_time(now), now);
  } else {
    take(release_.on_time(now), now);
  }
}

// --- ending ----------------------------------------------------------------------------------

void RunSession::begin_release(Time now) {
  phase_ = Phase::releasing;
  // The outcome is time_up or lost even if the command had ended and only its leftovers were
  // stopped: they were part of the job.
  if (outcome_.kind == Outcome::Kind::child) {
    if (stop_.reason() == StopReason::time) outcome_.kind = Outcome::Kind::time_up;
    if (stop_.reason() == StopReason::lease) outcome_.kind = Outcome::Kind::lost;
    if (unlocked_at_ && !stop_.by_lock()) outcome_.kind = Outcome::Kind::unlocked;
  }
  if (unlocked_at_) return finish(now);
  const EndedRun ended{outcome_,
                       *keeper_,
                       stop_.lease_over(),
                       *granted_at_,
                       *granted_at_ - wait_.acquire().started_at()};
  const EndTerms terms{terms_.min_hold, terms_.once_per, terms_.keep_last};
  take(release_.release(release_after(ended, terms), now), now);
}

void RunSession::handle(event::Released& event, Time now) {
  if (phase_ == Phase::releasing) take(release_.on_released(event.answer, now), now);
}

void RunSession::take(ReleaseStep step, Time now) {
  if (step.notice) say(std::move(*step.notice));
  if (step.cancel) actions_.emplace_back(action::CancelAsk{});
  if (step.ask) ask(*step.ask);
  if (step.over) finish(now);
}

void RunSession::finish(Time now) {
  phase_ = Phase::finished;
  outcome_.summary = {
      .holds = std::move(holds_),
      .waited = granted_at_.value_or(unlocked_at_.value_or(now)) - wait_.acquire().started_at(),
      .held = granted_at_ ? now - *granted_at_ : Duration{},
      .lost = stop_.lease_over() || release_.lost(),
      .released = release_.released()};
  actions_.emplace_back(action::Finish{std::move(outcome_)});
}

// --- helpers --------------------------------------------------------------------------------

void RunSession::say(Notice notice) {
  if (keeper_ && !unlocked_at_) notice.safe_until = keeper_->clock().safe_until();
  actions_.emplace_back(action::Say{std::move(notice)});
}

void RunSession::signal_group(int number, bool wake, Notice::Kind kind) {
  say({.kind = kind, .signal = number});
  actions_.emplace_back(action::SignalGroup{number, wake});
}

}  // namespace dlock
