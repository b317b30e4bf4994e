// SPDX-License-Identifier: MIT
#include "fake/scripted_world.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "fake/world_words.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

namespace {

constexpr int k_most_steps = 200000;

LeaseTerms checked(const Script& script) {
  auto terms = LeaseTerms::check(script.ttl, script.kill_after);
  DLOCK_ASSERT(terms.has_value());
  return *terms;
}

RunTerms terms_of(const Script& script, const LeaseTerms& lease) {
  return {.lease = lease,
          .acquire = {.wait = script.wait,
                      .connect_timeout = script.connect_timeout,
                      .outage_limit = script.outage_limit},
          .on_lost = script.on_lost,
          .stop_signal = script.stop_signal};
}

std::optional<Time> sooner(std::optional<Time> a, std::optional<Time> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

World::World(Script script)
    : script_(std::move(script)),
      lease_(checked(script_)),
      session_(terms_of(script_, lease_), script_.seed, start_),
      child_status_(script_.status) {
  std::stable_sort(script_.signals.begin(),
                   script_.signals.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

void World::note(const std::string& text) {
  transcript_.push_back(seconds_text(since_start()) + " " + text);
}

void World::require(bool kept, const std::string& promise) {
  if (!kept) violations_.push_back(seconds_text(since_start()) + " " + promise);
}

std::string World::run(Duration until) {
  carry_out(session_.start(now_));
  int steps = 0;
  while (!outcome_) {
    const auto when = next_thing();
    if (!when || *when > at(until)) break;
    if (++steps > k_most_steps) {
      require(false, "too many steps: a loop that does not wait");
      break;
    }
    step(*when);
  }
  std::string all;
  for (const std::string& entry : transcript_)
    all += (all.empty() ? "" : ", ") + entry;
  return all;
}

std::string World::said() const {
  std::string all;
  for (const std::string& entry : said_)
    all += (all.empty() ? "" : ", ") + entry;
  return all;
}

bool World::said(Notice::Kind kind) const {
  return std::any_of(
      notices_.begin(), notices_.end(), [&](const Notice& one) { return one.kind == kind; });
}

std::vector<Duration> World::asked(What what) const {
  std::vector<Duration> times;
  for (const auto& [one, when] : asked_) {
    if (one == what) times.push_back(when);
  }
  return times;
}

std::optional<Time> World::next_thing() const {
  std::optional<Time> next = sooner(child_ends_, group_ends_);
  if (running_) next = sooner(next, running_->answer_at);
  if (next_signal_ < script_.signals.size()) {
    next = sooner(next, at(script_.signals[next_signal_].first));
  }
  next = sooner(next, session_.next_deadline());
  if (!next) return next;
  next = std::max(*next, now_);
  if (script_.frozen && *next >= at(script_.frozen->first) && *next < at(script_.frozen->second)) {
    next = at(script_.frozen->second);
  }
  return next;
}

// One thing of those that are due, a deadline first.
void World::step(Time when) {
  now_ = when;
  if (const auto deadline = session_.next_deadline(); deadline && *deadline <= now_) {
    return feed(event::Tick{});
  }
  if (next_signal_ < script_.signals.size() && at(script_.signals[next_signal_].first) <= now_) {
    const int number = script_.signals[next_signal_++].second;
    if (child_ == ChildState::none || child_ == ChildState::gone) ++signals_without_child_;
    note("<" + signal_word(number) + ">");
    return feed(event::Signal{number});
  }
  if (child_ends_ && *child_ends_ <= now_) {
    child_ends_.reset();
    child_ = script_.leaves_group ? ChildState::leader_dead : ChildState::gone;
    note("ended");
    return feed(event::ChildEnded{child_status_, script_.leaves_group});
  }
  if (group_ends_ && *group_ends_ <= now_) {
    group_ends_.reset();
    if (child_ != ChildState::leader_dead) {
      script_.leaves_group = false;  // they went before the leader
      return;
    }
    child_ = ChildState::gone;
    note("group gone");
    return feed(event::GroupGone{});
  }
  if (running_ && running_->answer_at <= now_) answer_ask();
}

void World::feed(Event event) {
  if (outcome_) return;
  carry_out(session_.on(std::move(event), now_));
  check_deadlines();
}

void World::carry_out(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    require(!outcome_, "something to do after Finish");
    std::visit([this](const auto& what) { act(what); }, action);
  }
}

// "Before the lease can end, KILL": a deadline of the lease that we were awake for was kept.
void World::check_deadlines() {
  const bool alive = child_ == ChildState::running || child_ == ChildState::leader_dead;
  if (!alive || !kill_at_ || script_.on_lost == OnLost::warn) return;
  require(now_ < *kill_at_ || kill_sent_, "the child lives beyond kill_at and got no KILL");
  require(guard_at_ <= *kill_at_ || kill_sent_, "the guard would kill after kill_at");
  require(guard_at_ >= *kill_at_ || stop_sent_ || kill_sent_,
          "the guard would kill a child whose lease is kept");
}

// --- the store -------------------------------------------------------------------------------

void World::act(const action::Ask& ask) {
  const bool child_there = child_ == ChildState::running || child_ == ChildState::leader_dead;
  if (ask.what == What::release || ask.what == What::undo) {
    require(!child_there, "released before the child and its group are gone");
    gave_back_ = true;
  }
  if (ask.what == What::renew && kill_at_) {
    require(now_ < *kill_at_ + lease_.kill_time() || kills_ > 1 || script_.on_lost == OnLost::warn,
            "a renewal after the lease has ended");
  }
  note(word_for(ask.what));
  asked_.emplace_back(ask.what, since_start());
  waiting_.emplace_back(ask, transcript_.size() - 1);
  if (!running_) begin_next_ask();
}

void World::act(const action::CancelAsk& /*cancel*/) {
  if (!running_ || running_->answer_at == Time::max()) return;
  const What what = running_->ask.what;
  if (what == What::acquire && script_.grant_despite_cancel) {
    held_ = true;
    running_->answer = event::Acquired{
        AcquireReply(Grant{.hold = {.name = *LockName::parse("n"), .token = 7}, .sent_at = now_})};
  } else {
    running_->answer = failed(what, {Errc::cancelled, "cancelled"});
  }
  running_->answer_at = now_;
}

const Trouble* World::trouble_for(What what) const {
  for (const Trouble& one : script_.troubles) {
    const bool now = since_start() >= one.from && since_start() < one.until;
    if (now && (!one.only || *one.only == what)) return &one;
  }
  return nullptr;
}

Holding World::holding_now() const {
  Holding holding = script_.holding;
  if (script_.lease_ends)
    holding.lease_left = std::max<Duration>(*script_.lease_ends - since_start(), 0s);
  return holding;
}

StoreAnswer World::failed(What what, Error error) const {
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

Duration World::hand_off_takes(Time until) {
  while (next_hand_off_ < script_.hand_offs.size()) {
    const Time when = at(script_.hand_offs[next_hand_off_]);
    if (when > until) break;
    ++next_hand_off_;
    return std::max<Duration>(when - now_, 0s);
  }
  return Duration::max();
}

StoreAnswer World::carry_out_ask(const action::Ask& ask) {
  switch (ask.what) {
    case What::acquire:
      if (!script_.free_from || since_start() < *script_.free_from) {
        return event::Acquired{AcquireReply(holding_now())};
      }
      held_ = true;
      return event::Acquired{AcquireReply(
          Grant{.hold = {.name = *LockName::parse("n"), .token = 7}, .sent_at = now_})};
    case What::watch:
      if (script_.watch_error) return event::Watched{*script_.watch_error};
      return event::Watched{Result<void>()};
    case What::await_hand_off:
      return event::HandedOff{HandOff::timed_out};
    case What::renew: {
      RenewReply reply{.sent_at = now_};
      if (script_.revoked_from && since_start() >= *script_.revoked_from) {
        reply.verdict = RenewVerdict::revoked;
        reply.why = "ann@host";
      }
      if (script_.lost_from && since_start() >= *script_.lost_from) {
        reply.verdict = RenewVerdict::lost;
        reply.why = "held by bob@host";
        held_ = false;
      }
      return event::Renewed{reply};
    }
    case What::release:
    case What::undo:
      break;
  }
  const auto verdict = held_ ? ReleaseVerdict::released : ReleaseVerdict::not_held;
  held_ = false;
  return event::Released{script_.release_verdict.value_or(verdict)};
}

void World::begin_next_ask() {
  const auto [ask, entry] = waiting_.front();
  waiting_.pop_front();
  const Time limit = std::max(ask.limit, now_);
  const Trouble* const trouble = trouble_for(ask.what);
  Running running{.ask = ask,
                  .entry = entry,
                  .answer_at = now_ + script_.latency,
                  .answer = failed(ask.what, {Errc::timed_out, "no answer"})};
  if (ask.what == What::await_hand_off && !trouble) {
    const Duration takes = hand_off_takes(limit);
    const bool woken = takes != Duration::max();
    running.answer_at = woken ? now_ + takes : limit;
    running.answer = event::HandedOff{woken ? HandOff::woken : HandOff::timed_out};
  } else if (trouble && trouble->kind == Trouble::Kind::error) {
    running.answer = failed(ask.what, {trouble->code, "trouble"});
  } else if (trouble && trouble->kind != Trouble::Kind::slow) {
    if (trouble->kind == Trouble::Kind::answers_lost) carry_out_ask(ask);
    running.answer_at = trouble->kind == Trouble::Kind::hung ? Time::max() : limit;
  } else {
    StoreAnswer answer = carry_out_ask(ask);
    if (trouble) running.answer_at = now_ + trouble->delay;
    if (running.answer_at > limit) {
      running.answer_at = limit;
    } else {
      running.answer = std::move(answer);
    }
  }
  running_ = std::move(running);
}

void World::answer_ask() {
  Running done = std::move(*running_);
  running_.reset();
  transcript_[done.entry] += mark_of(done.answer);
  if (auto* renewed = std::get_if<event::Renewed>(&done.answer); renewed && renewed->answer) {
    const RenewReply& reply = *renewed->answer;
    told_lost_ = told_lost_ || reply.verdict == RenewVerdict::lost;
    if (reply.verdict == RenewVerdict::renewed && term_at_ && now_ < *term_at_) {
      LeaseClock clock(lease_, reply.sent_at);
      kill_at_ = std::max(*kill_at_, clock.kill_at());
      term_at_ = std::max(*term_at_, clock.term_at());
    }
  }
  if (auto* acquired = std::get_if<event::Acquired>(&done.answer); acquired && acquired->answer) {
    if (const auto* grant = std::get_if<Grant>(&*acquired->answer)) {
      const LeaseClock clock(lease_, grant->sent_at);
      kill_at_ = clock.kill_at();
      term_at_ = clock.term_at();
    }
  }
  if (!waiting_.empty()) begin_next_ask();
  std::visit([this](auto& event) { feed(std::move(event)); }, done.answer);
}

// --- the child -------------------------------------------------------------------------------

void World::act(const action::SetGuard& guard) {
  guard_at_ = guard.kill_at;
  guard_told_.push_back(guard_at_ == Time::max() ? "never" : seconds_text(guard_at_ - start_));
}

void World::act(const action::StartChild& start) {
  act(action::SetGuard{start.kill_at});
  require(child_ == ChildState::none, "started twice");
  require(signals_without_child_ == 0, "started after a signal that ends us");
  require(term_at_ && now_ + lease_.renew_step() <= *term_at_,
          "started with too little lease left");
  note("start");
  if (script_.cannot_start) return feed(event::StartFailed{{Errc::system, "cannot fork"}});
  child_ = ChildState::running;
  if (script_.runs_for) child_ends_ = now_ + *script_.runs_for;
}

void World::act(const action::SignalGroup& order) {
  require(child_ == ChildState::running || child_ == ChildState::leader_dead,
          "a signal to a group that is not there");
  note(signal_word(order.signal));
  if (order.signal == SIGKILL) {
    const bool late = kill_at_ && now_ >= *kill_at_;
    require(stop_sent_ || late, "KILL without TERM");
    kill_sent_ = true;
    ++kills_;
  }
  if (order.signal == SIGTERM || order.signal == SIGINT || order.signal == script_.stop_signal) {
    stop_sent_ = true;
    require(order.wake || order.signal == SIGUSR1,
            "a signal to end by that a stopped child would not see");
  }
  signal_child(order.signal);
}

void World::signal_child(int number) {
  const bool kill = number == SIGKILL;
  if (!kill && number != SIGTERM && number != SIGINT && number != script_.stop_signal) return;
  const auto takes = kill ? script_.kill_takes : script_.term_takes;
  if (child_ == ChildState::running && takes && (!child_ends_ || *child_ends_ > now_ + *takes)) {
    child_ends_ = now_ + *takes;
    child_status_ = {ChildStatus::Kind::signalled, number};
  }
  const auto group_takes = kill ? script_.group_kill_takes : script_.group_term_takes;
  if (script_.leaves_group && group_takes && (!group_ends_ || *group_ends_ > now_ + *group_takes)) {
    group_ends_ = now_ + *group_takes;
  }
}

void World::act(const action::Say& say) {
  notices_.push_back(say.notice);
  said_.push_back(seconds_text(since_start()) + " " + word_for(say.notice.kind));
}

void World::act(const action::Finish& finish) {
  require(child_ == ChildState::none || child_ == ChildState::gone, "finished with a child");
  // A second signal while giving up is told to leave everything as it is.
  require(!held_ || gave_back_ || told_lost_ || signals_without_child_ > 1,
          "a hold is left behind");
  note(outcome_text(finish.outcome));
  outcome_ = finish.outcome;
}

}  // namespace dlock::test
