// SPDX-License-Identifier: MIT
#include "sim/schedule.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "support/world_words.hpp"

namespace dlock::sim {

using namespace std::chrono_literals;

namespace {

constexpr Duration k_ttl = 6s;
constexpr Duration k_kill_after = 1500ms;
// The sums of ARCHITECTURE.md, "Lease", once more.
constexpr Duration k_drift = k_ttl / 100 + 10ms;
constexpr Duration k_kill_time = 100ms;
constexpr Duration k_safe = k_ttl - k_drift;
constexpr int k_most_signals = 2;

constexpr Duration k_max_hold = 1700ms;

RunTerms terms(Schedule::Kind kind) {
  const bool ends = kind == Schedule::Kind::max_hold;
  return {.lease = *LeaseTerms::check(k_ttl, k_kill_after),
          .acquire = {.wait = {}, .connect_timeout = 1s, .outage_limit = 3s},
          .renew = kind != Schedule::Kind::fixed,
          .max_hold = ends ? k_max_hold : Duration::zero()};
}

Grant grant_of(Schedule::Kind kind, Time sent_at) {
  Grant grant{{{.name = *LockName::parse("n"), .token = 7}}, sent_at};
  if (kind == Schedule::Kind::fixed) {
    grant.holds.push_back({.name = *LockName::parse("m"), .token = 8});
  }
  return grant;
}

Refusal somebody(Queueing queueing) {
  const std::uint64_t place = queueing == Queueing::no ? 0 : 1;
  return {
      .holding = {.kind = Holding::Kind::lock, .type = "hash", .lease_left = 4s, .waiting = place},
      .place = place};
}

}  // namespace

const char* word_for(Step step) {
  constexpr std::array k_words{"granted",
                               "busy",
                               "renewed",
                               "revoked",
                               "held",
                               "lost",
                               "released",
                               "done",
                               "refused",
                               "error",
                               "time",
                               "freeze",
                               "sleep",
                               "signal",
                               "ends",
                               "leaves",
                               "gone"};
  return k_words.at(static_cast<std::size_t>(step));
}

Schedule::Schedule(Kind kind)
    : kind_(kind), lease_(terms(kind).lease), now_(1000s), session_(terms(kind), 1, now_) {
  carry_out(session_.start(now_));
}

Time Schedule::kill_at() const {
  const Time by_lease = *confirmed_ + k_safe - k_kill_time;
  return stop_kill_ ? std::min(by_lease, *stop_kill_) : by_lease;
}

// A freeze may begin its stop late.
Time Schedule::stopped_by() const {
  if (!time_up_ || froze_) return Time::max();
  return *time_up_ + k_kill_after;
}

std::vector<Step> Schedule::next_steps() const {
  std::vector<Step> steps;
  if (!questions_.empty()) {
    steps.push_back(Step::error);
    switch (questions_.front().ask.what) {
      case What::acquire:
        steps.insert(steps.end(), {Step::granted, Step::busy});
        break;
      case What::renew:
        steps.insert(steps.end(), {Step::renewed, Step::lost, Step::revoked});
        break;
      case What::check:
        steps.insert(steps.end(), {Step::held, Step::lost, Step::revoked});
        break;
      case What::release:
      case What::undo:
      case What::leave:
        steps.push_back(Step::released);
        break;
      case What::watch_hold:
        steps.insert(steps.end(), {Step::done, Step::refused});
        break;
      case What::inspect:
      case What::call:
        break;  // a run asks for neither
      case What::watch:
      case What::await_hand_off:
        steps.push_back(Step::done);
    }
  }
  if (session_.next_deadline() || !questions_.empty()) steps.push_back(Step::time);
  if (!froze_) steps.insert(steps.end(), {Step::freeze, Step::sleep});
  if (signals_ < k_most_signals) steps.push_back(Step::signal);
  if (leader_lives_) {
    steps.insert(steps.end(), {Step::ends, Step::leaves});
  } else if (others_live_) {
    steps.push_back(Step::gone);
  }
  return steps;
}

void Schedule::play(Step step) {
  switch (step) {
    case Step::time:
      to_next_deadline();
      break;
    case Step::freeze:
      froze_ = true;
      pass(k_ttl * 2 / 3);
      break;
    case Step::sleep:
      froze_ = true;
      pass(2 * k_ttl);
      break;
    case Step::signal:
      ++signals_;
      if (!session_.has_child()) may_start_ = false;
      feed(event::Signal{SIGTERM});
      break;
    case Step::ends:
    case Step::leaves: {
      leader_lives_ = false;
      others_live_ = step == Step::leaves;
      feed(event::ChildEnded{{}, others_live_});
      break;
    }
    case Step::gone:
      others_live_ = false;
      feed(event::GroupGone{});
      break;
    case Step::granted:
    case Step::busy:
    case Step::renewed:
    case Step::revoked:
    case Step::held:
    case Step::lost:
    case Step::released:
    case Step::done:
    case Step::refused:
    case Step::error:
      answer(step);
  }
  check();
}

// What runs again looks at the clock before all else (app/runner).
void Schedule::pass(Duration time) {
  now_ += time;
  if (session_.next_deadline().value_or(Time::max()) <= now_) feed(event::Tick{});
}

void Schedule::to_next_deadline() {
  const Time ours = session_.next_deadline().value_or(Time::max());
  const Time of_question = questions_.empty() ? Time::max() : questions_.front().ask.limit;
  pass(std::max<Duration>(std::min(ours, of_question) - now_, 0s));
  if (finished_ || questions_.empty() || questions_.front().ask.limit > now_) return;
  const bool waited = questions_.front().ask.what == What::await_hand_off;
  answer(waited ? Step::time : Step::error);
}

// A stop that has begun is not called off: somebody else may have been in between.
void Schedule::note_lapse() {
  if (!lives() || now_ < *confirmed_ + k_safe - k_kill_time - k_kill_after) return;
  stop_kill_ = kill_at();
}

void Schedule::answer(Step step) {
  note_lapse();
  const Question question = questions_.front();
  questions_.pop_front();
  if (!questions_.empty()) questions_.front().sent_at = now_;
  feed(test::run_event(answer_to(question, step)));
}

StoreAnswer Schedule::answer_to(const Question& question, Step step) {
  const Error error{question.interrupted ? Errc::cancelled : Errc::timed_out, ""};
  const bool failed = step == Step::error;
  switch (question.ask.what) {
    case What::acquire:
      // A busy answer says nothing about an earlier try without an answer, which may yet arrive.
      if (step != Step::busy) maybe_held_ = true;
      in_line_ = step != Step::granted && (in_line_ || question.ask.queueing != Queueing::no);
      if (failed) return event::Acquired{error};
      if (step == Step::busy) return event::Acquired{AcquireReply(somebody(question.ask.queueing))};
      confirmed_ = question.sent_at;
      if (kind_ == Kind::max_hold) time_up_ = now_ + k_max_hold;
      return event::Acquired{AcquireReply(grant_of(kind_, question.sent_at))};
    case What::watch:
    case What::watch_hold:
      if (step == Step::refused) {
        no_news_ = true;
        return event::Watched{Error{Errc::refused, ""}};
      }
      return failed ? event::Watched{error} : event::Watched{Watching{}};
    case What::await_hand_off:
      if (failed) return event::HandedOff{error};
      return event::HandedOff{step == Step::done ? HandOff::changed : HandOff::timed_out};
    case What::renew:
    case What::check:
      if (failed) return event::Renewed{error};
      return event::Renewed{verdict(question, step)};
    case What::release:
    case What::undo:
    case What::leave:
    case What::inspect:
    case What::call:
      break;
  }
  if (failed) return event::Released{error};
  return event::Released{ReleaseVerdict::released};
}

RenewReply Schedule::verdict(const Question& question, Step step) {
  if (step == Step::held) return {RenewVerdict::held, question.sent_at};
  if (step == Step::renewed) {
    // One that is confirmed too late changes nothing: the stop has begun.
    confirmed_ = std::max(*confirmed_, question.sent_at);
    return {RenewVerdict::renewed, question.sent_at};
  }
  const bool lost = step == Step::lost;
  const bool some_left = lost && kind_ == Kind::fixed;
  if (lost) maybe_held_ = some_left;
  const Time kill = now_ + (lost ? std::min<Duration>(k_kill_after, 1s) : k_kill_after);
  stop_kill_ = std::min(stop_kill_.value_or(kill), kill);
  const auto verdict = lost ? RenewVerdict::lost : RenewVerdict::revoked;
  return {.verdict = verdict, .sent_at = question.sent_at, .some_left = some_left};
}

void Schedule::feed(Event event) {
  if (finished_) return;
  carry_out(session_.on(std::move(event), now_));
}

void Schedule::carry_out(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    require(!finished_, "something to do after the end");
    std::visit([this](const auto& what) { act(what); }, action);
  }
}

void Schedule::act(const action::Ask& ask) {
  if (ask.what == What::release || ask.what == What::undo || ask.what == What::leave) {
    require(!lives(), "a release before the group is gone");
    if (ask.what != What::leave) gave_back_ = true;
    left_ = true;
  } else if (confirmed_) {
    require(lives(), "a question about a hold without a child");
    require(now_ < *confirmed_ + k_safe || kill_sent_, "a question after the end of the lease");
  }
  require(ask.what != What::renew || kind_ != Kind::fixed, "a fixed lease is renewed");
  require(ask.what != What::watch_hold || !no_news_, "watched where there are no news");
  if (!questions_.empty()) {
    Question& before = questions_.front();
    require(!lives() || gives_way(before.ask.what, ask.what), "two questions at a time");
    before.interrupted = before.interrupted || gives_way(before.ask.what, ask.what);
  }
  questions_.push_back({ask, now_});
}

void Schedule::act(const action::StartChild& start) {
  require(!started_, "a second start");
  require(may_start_, "a start after a signal that ends us");
  require(confirmed_.has_value(), "a start without a grant");
  const Time term_at = *confirmed_ + k_safe - k_kill_time - k_kill_after;
  require(now_ + k_ttl / 3 <= term_at, "a start with too little of the lease left");
  started_ = leader_lives_ = true;
  guard_at_ = start.kill_at;
}

void Schedule::act(const action::SignalGroup& order) {
  require(lives(), "a signal to a group that is gone");
  (order.signal == SIGKILL ? kill_sent_ : term_sent_) = true;
}

void Schedule::act(const action::Finish& /*finish*/) {
  require(!lives(), "the end with a living child");
  // Nothing can be asked of a store that does not answer what was asked before.
  const bool excused = !questions_.empty() || signals_ > 1;
  require(!maybe_held_ || gave_back_ || excused, "a hold that is left behind");
  require(!in_line_ || left_ || excused, "a place in line that is left behind");
  finished_ = true;
}

void Schedule::check() {
  if (finished_) return;
  require(session_.next_deadline() || !questions_.empty() || lives(), "nothing to wait for");
  if (!lives()) return;
  require(kill_sent_ || now_ < kill_at(), "a child that lives at kill_at without a KILL");
  const Time term_at = *confirmed_ + k_safe - k_kill_time - k_kill_after;
  require(kill_sent_ || term_sent_ || now_ < term_at, "no TERM at term_at");
  require(kill_sent_ || term_sent_ || now_ < time_up_.value_or(now_ + 1s),
          "no TERM after max_hold");
  require(kill_sent_ || now_ < stopped_by(), "no KILL after max_hold and its grace");
  require(kill_sent_ || !stop_kill_ || term_sent_, "no TERM after a verdict");
  require(kill_sent_ || (guard_at_ && *guard_at_ <= kill_at()), "a guard with a later deadline");
}

void Schedule::require(bool kept, const char* promise) {
  if (!kept && violation_.empty()) violation_ = promise;
}

}  // namespace dlock::sim
