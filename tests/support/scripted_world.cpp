// SPDX-License-Identifier: MIT
#include "support/scripted_world.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "support/world_words.hpp"

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
                      .outage_limit = script.outage_limit,
                      .max_waiters = script.max_waiters},
          .on_lost = script.on_lost,
          .on_unavailable = script.on_unavailable,
          .contain = script.contain,
          .renew = script.renew,
          .min_hold = script.min_hold,
          .max_hold = script.max_hold,
          .splay = script.splay,
          .once_per = script.once_per,
          .stop_signal = script.stop_signal,
          .notice_every = script.notice_every};
}

PlayedStoreTerms store_terms(const Script& script) {
  PlayedStoreTerms terms{.latency = script.latency,
                         .troubles = script.troubles,
                         .hand_offs = script.hand_offs,
                         .refused = {}};
  if (!script.news) terms.refused = What::watch_hold;
  return terms;
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
      store_(store_terms(script_), start_),
      child_status_(script_.status) {
  std::stable_sort(script_.signals.begin(),
                   script_.signals.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  store_.carry_out = [this](const action::Ask& ask, Time) { return carry_out_ask(ask); };
  store_.despite_cancel = [this](What what) { return despite_cancel(what); };
}

void World::note(const std::string& text) {
  transcript_.push_back(seconds_text(since_start()) + " " + text);
}

void World::require(bool kept, const std::string& promise) {
  if (!kept) violations_.push_back(seconds_text(since_start()) + " " + promise);
}

std::string World::run(Duration until) {
  if (!std::exchange(begun_, true)) carry_out(session_.start(now_));
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
    if (one.what == what) times.push_back(when);
  }
  return times;
}

std::optional<Time> World::next_thing() const {
  std::optional<Time> next = sooner(child_ends_, group_ends_);
  next = sooner(next, store_.next());
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

// Plays one thing that is due at `when`; a deadline comes before everything else.
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
      script_.leaves_group = false;  // the others ended before the leader
      return;
    }
    child_ = ChildState::gone;
    note("group gone");
    return feed(event::GroupGone{});
  }
  if (store_.next().value_or(Time::max()) <= now_) answer_ask();
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

// Checks that a living child is stopped at its limits: by TERM or KILL at max_hold, and by KILL at
// kill_at. Checks also that the guard would kill it at kill_at.
void World::check_deadlines() {
  const bool alive = child_ == ChildState::running || child_ == ChildState::leader_dead;
  if (!alive || !kill_at_) return;
  if (script_.max_hold > 0s) {
    const Time up = *granted_at_ + script_.max_hold;
    require(now_ < up || stop_sent_ || kill_sent_, "the child lives beyond max_hold undisturbed");
  }
  if (script_.on_lost == OnLost::warn && script_.renew) return;
  require(now_ < *kill_at_ || kill_sent_, "the child lives beyond kill_at and got no KILL");
  require(guard_at_ <= *kill_at_ || kill_sent_, "the guard would kill after kill_at");
  require(guard_at_ >= *kill_at_ || stop_sent_ || kill_sent_,
          "the guard would kill a child whose lease is kept");
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
  const bool unlocked = start.holds.empty();
  require(!unlocked || script_.on_unavailable == OnUnavailable::run, "started without the lock");
  require(unlocked || (term_at_ && now_ + lease_.renew_step() <= *term_at_),
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
  const bool of_hidden_news = say.notice.kind == Notice::Kind::untracked && !script_.news;
  if (of_hidden_news && child_ != ChildState::none) return;
  notices_.push_back(say.notice);
  said_.push_back(seconds_text(since_start()) + " " + word_for(say.notice.kind) +
                  (say.notice.runs_on ? " runs_on" : ""));
}

void World::act(const action::Finish& finish) {
  require(child_ == ChildState::none || child_ == ChildState::gone, "finished with a child");
  // After a second signal without a child, the session may leave everything as it is.
  require(!held_ || gave_back_ || told_lost_ || signals_without_child_ > 1,
          "a hold is left behind");
  require(!in_line_ || gave_back_ || signals_without_child_ > 1, "a place in line is left behind");
  note(outcome_text(finish.outcome));
  outcome_ = finish.outcome;
}

}  // namespace dlock::test
