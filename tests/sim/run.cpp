// SPDX-License-Identifier: MIT
#include "sim/run.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

#include "support/world_words.hpp"

namespace dlock::sim {

using namespace std::chrono_literals;

namespace {
constexpr Duration k_look_for_leftovers = 20ms;  // as app/runner does
}

Run::Run(Scene& scene,
         HoldId hold,
         const DriftingClock& clock,
         const RunSetting& setting,
         const Weather& weather)
    : Process(scene, clock, setting.slowest_turn),
      hold_(hold),
      weather_(weather),
      cannot_start_(setting.cannot_start),
      session_(setting.terms, setting.seed, clock.at(scene.now())),
      link_(*this, hold, setting.terms.lease.ttl(), weather, setting.hearing),
      group_(scene, hold, clock, setting.habits) {
  link_.on_answer = [this] { wake(); };
  group_.on_change = [this] { signal(k_child_changed); };
}

std::optional<Duration> Run::calm_since() const {
  const Server& server = scene().server;
  if (over_ || !runs() || !weather_.calm() || !server.well()) return {};
  return std::max(weather_.calm_since, server.calm_since);
}

void Run::start() {
  now_ = shown();
  carry_out(session_.start(now_));
  wake();
}

void Run::signal(int number) {
  if (dead()) return;
  signals_.push_back(number);
  wake();
}

void Run::terminal_stop() {
  if (over_ || frozen()) return;
  if (session_.has_child()) group_.stop();
  stopped_here_ = true;
  freeze();
}

void Run::freeze() {
  scene().judge.failed(hold_);
  Process::freeze();
}

void Run::resume() {
  if (std::exchange(stopped_here_, false) && !over_) {
    later(0ns, [this] {  // the clock first, then the child goes on
      now_ = shown();
      feed(event::Resumed{});
      if (group_.alive()) group_.signal(SIGCONT, false);
    });
    go_on();
    // What was due meanwhile waits for that.
    return;
  }
  go_on();
}

void Run::crash() {
  if (over_) return;
  scene().trace.note(scene().now(), [&] { return scene().judge.who(hold_) + ": dlock dies"; });
  over_ = true;
  scene().judge.failed(hold_);
  die();
  link_.close_ears();
  group_.dlock_died();
  on_over();
}

void Run::wake() {
  if (std::exchange(turn_planned_, true)) return;
  later(lag(), [this] {
    turn_planned_ = false;
    if (!over_) turn();
  });
}

void Run::turn() {
  reached(Point::turn);
  if (!runs()) return wake();
  now_ = shown();
  if (to_begin_) begin_child();
  if (const auto deadline = session_.next_deadline(); deadline && *deadline <= now_) {
    feed(event::Tick{});
  }
  take_signals();
  while (auto answer = link_.next_answer())
    feed(test::run_event(std::move(*answer)));
  if (leftovers_ && !over_ && !group_.alive()) {
    leftovers_ = false;
    feed(event::GroupGone{});
  }
  if (over_) return;
  const auto plan = ++deadline_plan_;
  const auto wake_again = [this, plan] {
    if (plan == deadline_plan_) wake();
  };
  if (const auto deadline = session_.next_deadline()) at_local(*deadline, wake_again);
  if (leftovers_) later(k_look_for_leftovers, wake_again);
}

void Run::take_signals() {
  while (!signals_.empty()) {
    const int number = signals_.front();
    signals_.pop_front();
    if (number == k_child_changed) {
      look_at_child();
    } else if (!over_) {
      if (!session_.has_child()) scene().judge.signalled_without_child(hold_);
      feed(event::Signal{number});
    }
  }
}

void Run::look_at_child() {
  if (session_.has_child() && !group_.guard_well()) group_.replace_guard();
  if (!group_.leader_status() || std::exchange(leader_seen_dead_, true)) return;
  leftovers_ = group_.alive();
  feed(event::ChildEnded{*group_.leader_status(), leftovers_});
}

void Run::feed(Event event) {
  if (over_) return;
  carry_out(session_.on(std::move(event), now_));
  watch_promises();
}

void Run::watch_promises() {
  if (over_ || !session_.has_child()) return;
  const auto safe_until = session_.safe_until();
  if (!safe_until) return;
  scene().judge.announced(hold_, *safe_until);
}

void Run::carry_out(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (over_) scene().judge.blame("I10", hold_, "something to do after the end");
    std::visit([this](const auto& what) { act(what); }, action);
  }
}

void Run::act(const action::StartChild& start) {
  scene().judge.ordered_to_start(hold_, start.kill_at);
  to_begin_ = start;
  reached(Point::start);
  if (runs()) {
    begin_child();
  } else {
    wake();
  }
}

void Run::begin_child() {
  const auto start = *std::exchange(to_begin_, {});
  // The last thing before exec is a look at the clock, the guard having its deadline already.
  group_.arm(start.kill_at);
  if (cannot_start_) {
    group_.say_goodbye();
    return feed(event::StartFailed{{Errc::system, "cannot fork"}});
  }
  if (shown() >= start.kill_at) {
    leader_seen_dead_ = true;
    return feed(event::ChildEnded{{ChildStatus::Kind::not_started, ETIME}, false});
  }
  group_.begin(start.holds);
}

void Run::act(const action::SignalGroup& order) {
  const int number = order.signal;
  if (number == SIGTERM || number == SIGINT || number == SIGKILL)
    scene().judge.ordered_to_stop(hold_);
  group_.signal(number, order.wake);
}

void Run::act(const action::Say& say) {
  scene().trace.note(scene().now(), [&] {
    return scene().judge.who(hold_) + ": says " + test::word_for(say.notice.kind);
  });
}

void Run::act(const action::Finish& finish) {
  scene().trace.note(scene().now(), [&] {
    return scene().judge.who(hold_) + ": " + test::outcome_text(finish.outcome);
  });
  const auto calm = calm_since();
  const bool well = keeps_up() && calm && *calm + k_recovers <= scene().now();
  over_ = true;
  group_.say_goodbye();
  scene().judge.finished(hold_, finish.outcome, group_.alive(), well);
  link_.close_ears();
  die();
  on_over();
}

}  // namespace dlock::sim
