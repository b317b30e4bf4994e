// SPDX-License-Identifier: MIT
#include "core/run_session.hpp"

#include "base/duration.hpp"
#include "core/signal_policy.hpp"

#include <csignal>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

using What = action::Ask::What;

// A run that ends sooner is not worth the messages that watching its hold takes.
constexpr Duration k_watch_after = 1s;
// Another may be running already when a master says that we lost (faults.md 2.3-5).
constexpr Duration k_grace_after_verdict = 1s;
// What a command leaves behind is not waited for like the command itself.
constexpr Duration k_grace_for_leftovers = 500ms;
// A store thread that hangs in the kernel (a file system that is gone) is not waited for.
constexpr Duration k_overdue = 1500ms;  // twice: we may have been frozen for the first
constexpr Duration k_undo_limit = 300ms;
constexpr Duration k_release_when_signalled = 1s;

template <class... Times>
std::optional<Time> earliest(Times... times) {
  std::optional<Time> first;
  for (const std::optional<Time>& time : {std::optional<Time>(times)...}) {
    if (time && (!first || *time < *first)) first = time;
  }
  return first;
}

}  // namespace

RunSession::RunSession(const RunTerms& terms, std::uint64_t seed, Time now)
    : terms_(terms), wait_(terms.acquire, terms.notice_every, seed, now) {}

std::vector<Action> RunSession::start(Time now) {
  follow(wait_.start(now), now);
  return std::exchange(actions_, {});
}

// The clock comes first, whatever happened: what is due is killed before the store is asked for
// anything, and an answer that arrives after term_at finds the stop begun (faults.md 2.3-8).
std::vector<Action> RunSession::on(Event event, Time now) {
  if (phase_ == Phase::finished) return {};
  if (has_child()) {
    check_lease(now);
    check_time(now);
    kill_if_due(now);
    // Who cannot be killed is better off with a lease than without.
    too_late_ = now >= clock_->safe_until() && !warned_ && !stop_.survived_kill();
  }
  std::visit([&](auto& what) { handle(what, now); }, event);
  if (has_child()) kill_if_due(now);
  if (has_child()) move_guard();
  return std::exchange(actions_, {});
}

std::optional<Time> RunSession::safe_until() const {
  return clock_ && !not_ours_ ? std::optional(clock_->safe_until()) : std::nullopt;
}

std::optional<Time> RunSession::next_deadline() const {
  switch (phase_) {
    case Phase::acquiring:
      return wait_.next_deadline();
    case Phase::running:
    case Phase::leftovers:
      return earliest(
          question_at(), look_at(), watch_hold_at(), lapses_at(), time_up_at(), stop_.next());
    case Phase::giving_up:
    case Phase::releasing:
      return asking_ ? answer_due_ + k_overdue : retry_release_at_;
    case Phase::finished:
      break;
  }
  return {};
}

// --- acquiring -------------------------------------------------------------------------------

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
    give_up({.kind = Outcome::Kind::busy,
             .refusal = std::move(busy->refusal),
             .seen_ago = now - wait_.acquire().last_contact()},
            now);
  } else if (const auto* const done = std::get_if<step::Done>(&end)) {
    say({.kind = Notice::Kind::done_before,
         .text = format_duration(terms_.once_per),
         .span = done->ago});
    give_up({.kind = Outcome::Kind::done}, now);
  } else if (auto* const failed = std::get_if<step::Failed>(&end)) {
    give_up({.kind = Outcome::Kind::failed, .error = std::move(failed->error)}, now);
  }
}

void RunSession::handle(event::Acquired& event, Time now) {
  asking_ = false;
  if (phase_ == Phase::giving_up) {
    const Grant* const grant = event.answer ? std::get_if<Grant>(&*event.answer) : nullptr;
    if (grant != nullptr) note_grant(*grant, now);
    return answered_while_giving_up(grant != nullptr, !event.answer, now);
  }
  follow(wait_.on(std::move(event), now), now);
}

void RunSession::handle(event::Watched& event, Time now) {
  if (granted_at_) return handle_hold_watched(event.answer, now);
  asking_ = false;
  if (phase_ == Phase::giving_up) return answered_while_giving_up(false, false, now);
  follow(wait_.on(event, now), now);
}

void RunSession::handle(event::HandedOff& event, Time now) {
  if (listening_) return handle_hold_news(event.answer, now);
  asking_ = false;
  if (phase_ == Phase::giving_up) return answered_while_giving_up(false, false, now);
  follow(wait_.on(event, now), now);
}

void RunSession::note_grant(const Grant& grant, Time now) {
  clock_.emplace(terms_.lease, grant.sent_at);
  granted_at_ = now;
  watch_hold_from_ = now + k_watch_after;
  summary_.holds = grant.holds;
}

void RunSession::take_grant(Grant grant, Time now) {
  note_grant(grant, now);
  if (!clock_->may_start(now)) {
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
  guard_at_ = guard_due();
  actions_.push_back(action::StartChild{std::move(grant.holds), guard_at_});
}

// Before there is a child: leave nothing of ours behind, then finish.
void RunSession::give_up(Outcome outcome, Time now) {
  phase_ = Phase::giving_up;
  outcome_ = std::move(outcome);
  if (asking_) {
    answer_due_ = now;
    actions_.push_back(action::CancelAsk{});
  } else {
    answered_while_giving_up(false, false, now);
  }
}

void RunSession::answered_while_giving_up(bool granted, bool unknown, Time now) {
  if (granted) return begin_release(now);
  leaving_ = !unknown && !wait_.acquire().maybe_held();
  if (leaving_ && !wait_.acquire().stands()) return finish(now);
  phase_ = Phase::releasing;
  release_until_ = now;  // one try
  release_repeated_ = true;
  ask({.what = leaving_ ? What::leave : What::undo,
       .limit = now + k_undo_limit,
       .queueing = wait_.acquire().queueing()});
}

// --- running ---------------------------------------------------------------------------------

void RunSession::handle(event::Renewed& event, Time now) {
  if (!has_child()) return;
  asking_ = false;
  if (!event.answer) {
    // Unknown is neither held nor lost: the clock decides (faults.md 2.3-4).
    trouble_ = event.answer.error().text;
    say({.kind = Notice::Kind::unreachable, .text = trouble_});
    retry_pause_ = retry_renew_at_ ? std::min(retry_pause_ * 2, terms_.lease.call_limit())
                                   : terms_.lease.first_retry();
    retry_renew_at_ = now + retry_pause_;
    return;
  }
  RenewReply& reply = *event.answer;
  switch (reply.verdict) {
    case RenewVerdict::renewed:
      retry_renew_at_.reset();
      trouble_.clear();
      clock_->confirm(reply.sent_at);
      say({.kind = Notice::Kind::renewed, .span = clock_->safe_until() - now});
      return listen();
    case RenewVerdict::held:
      retry_renew_at_.reset();
      return listen();
    case RenewVerdict::revoked:
      may_renew_ = false;
      return lease_gone({.kind = Notice::Kind::revoked,
                         .text = std::move(reply.revoked_by),
                         .which = reply.which},
                        now + terms_.lease.kill_after(),
                        now);
    case RenewVerdict::lost:
      may_renew_ = false;
      not_ours_ = true;
      some_left_ = reply.some_left;
      return lease_gone(
          {.kind = Notice::Kind::lost, .which = reply.which, .holding = std::move(reply.holding)},
          now + std::min(terms_.lease.kill_after(), k_grace_after_verdict),
          now);
  }
}

void RunSession::handle(const event::Signal& event, Time now) {
  if (has_child()) {
    if (asks_to_end(event.number)) {
      if (user_stop_ != 0) return stop_.begin(now, KillReason::second_signal);
      stop_.begin(now + terms_.lease.kill_after());
      user_stop_ = event.number;
    }
    const auto kind = asks_to_end(event.number) ? Notice::Kind::signalled : Notice::Kind::passed_on;
    signal_group(event.number, wakes(event.number), kind);
  } else if (phase_ == Phase::acquiring) {
    give_up({.kind = Outcome::Kind::signalled, .signal = event.number}, now);
  } else if (phase_ == Phase::releasing) {  // what is done while giving up takes no longer anyway
    release_until_ = std::min(release_until_, now + k_release_when_signalled);
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
  // After Ctrl-C a shell looks whether we died by INT, also if that took our KILL.
  const bool by_our_kill = event.status == ChildStatus{ChildStatus::Kind::signalled, SIGKILL};
  if (user_stop_ == SIGINT && by_our_kill && stop_.kill_sent()) outcome_.child.value = SIGINT;
  if (event.strays > 0) say({.kind = Notice::Kind::strays, .count = event.strays});
  if (!event.group_alive) return begin_release(now);
  phase_ = Phase::leftovers;
  if (stop_.kill_sent()) {
    // What the KILL did not reach: the group of a nested run whose dlock it ended.
    return signal_group(SIGKILL, false);
  }
  if (lease_stop_ || time_stop_) return;  // they have had their signal, and the KILL is set
  if (terms_.contain) return say({.kind = Notice::Kind::outlived});
  say({.kind = Notice::Kind::leftovers});
  if (!stop_.stopping()) stop_.begin(now + k_grace_for_leftovers);
  signal_group(SIGTERM, true);
}

void RunSession::handle(event::GroupGone /*event*/, Time now) {
  if (phase_ == Phase::leftovers) begin_release(now);
}

// The lease was checked on the way in; nothing else is due before the child goes on.
void RunSession::handle(event::Resumed /*event*/, Time /*now*/) {}

void RunSession::handle(event::Tick event, Time now) {
  if (phase_ == Phase::acquiring) {
    follow(wait_.on(event, now), now);
  } else if (has_child()) {
    if (now >= question_at().value_or(Time::max())) {
      look_at_.reset();  // this is one
      ask(terms_.renew ? What::renew : What::check, now + terms_.lease.call_limit());
    } else if (now >= look_at().value_or(Time::max())) {
      check_hold(now);
    } else if (now >= watch_hold_at().value_or(Time::max())) {
      ask(What::watch_hold, std::min(now + terms_.lease.call_limit(), news_until()));
    }
  } else if (asking_ && now >= answer_due_ + k_overdue) {
    if (!std::exchange(overdue_, true)) {
      answer_due_ = now;
    } else {
      release_unknown("the store does not answer at all", now);
    }
  } else if (phase_ == Phase::releasing && retry_release_at_ && now >= *retry_release_at_) {
    ask_release(now);
  }
}

// --- helpers --------------------------------------------------------------------------------

void RunSession::say(Notice notice) {
  if (clock_) notice.safe_until = clock_->safe_until();
  actions_.push_back(action::Say{std::move(notice)});
}

void RunSession::ask(action::Ask ask) {
  asking_ = true;
  answer_due_ = ask.limit;
  overdue_ = false;
  actions_.emplace_back(ask);
}

}  // namespace dlock
