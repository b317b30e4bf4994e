// SPDX-License-Identifier: MIT
// Actor: one dlock process without a command: a machine of core that only asks the store, with its
// Link. It does what app/driver does, turn by turn: the clock is read once, a deadline that has
// passed comes before all else, then answers.
#pragma once

#include "core/machine.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "sim/link.hpp"
#include "support/world_words.hpp"

namespace dlock::sim {

// What an Actor is made of.
struct ActorSetting {
  HoldId hold = 0;
  Duration ttl{};
  Duration slowest_turn{};
  Hearing hearing = Hearing::all;
};

template <class Machine>
class Actor : public Process {
 public:
  using Outcome = typename Machine::Outcome;

  Actor(Scene& scene, const DriftingClock& clock, const ActorSetting& setting, Machine machine)
      : Process(scene, clock, setting.slowest_turn),
        hold_(setting.hold),
        link_(*this, setting.hold, setting.ttl, weather_, setting.hearing),
        machine_(std::move(machine)) {
    link_.on_answer = [this] { wake(); };
  }

  std::function<void(const action::Ask&, Time)> on_ask;
  std::function<void(const StoreAnswer&)> on_answer;
  std::function<void(const Outcome&, Time)> on_end;

  void start() {
    now_ = shown();
    carry_out(machine_.start(now_));
    wake();
  }
  template <class Event>
  void feed(Event event) {
    if (!over()) carry_out(machine_.on(std::move(event), now_));
  }
  void crash() {
    over_ = true;
    die();
    link_.close_ears();
  }

  bool over() const { return over_; }
  HoldId hold() const { return hold_; }
  Link& link() { return link_; }
  Weather& weather() { return weather_; }

 private:
  void wake() {
    if (std::exchange(turn_planned_, true)) return;
    later(lag(), [this] {
      turn_planned_ = false;
      if (!over_) turn();
    });
  }

  void turn() {
    now_ = shown();
    const auto due = machine_.next_deadline();
    if (due && *due <= now_) feed(event::Tick{});
    while (auto answer = link_.next_answer()) {
      if (over_) break;
      on_answer(*answer);
      std::visit(
          [this](auto& event) {
            if constexpr (requires { machine_.on(std::move(event), now_); }) feed(std::move(event));
          },
          *answer);
    }
    const auto plan = ++deadline_plan_;
    const auto deadline = machine_.next_deadline();
    if (over_ || !deadline || *deadline == Time::max()) return;
    at_local(*deadline, [this, plan] {
      if (plan == deadline_plan_) wake();
    });
  }

  template <class Actions>
  void carry_out(Actions actions) {
    for (auto& action : actions) {
      if (over_) scene().judge.blame("X4", hold_, "something to do after the end");
      std::visit([this](auto& what) { act(what); }, action);
    }
  }
  void act(const action::Ask& ask) {
    on_ask(ask, now_);
    link_.ask(ask);
  }
  void act(const action::Say& say) {
    scene().trace.note(scene().now(), [&] {
      return scene().judge.who(hold_) + ": says " + test::word_for(say.notice.kind);
    });
  }
  template <class End>
  void act(const End& end) {
    scene().trace.note(scene().now(), [&] { return scene().judge.who(hold_) + ": ends"; });
    crash();
    on_end(end.outcome, now_);
  }

  HoldId hold_;
  Weather weather_;
  Link link_;
  Machine machine_;
  Time now_;
  bool turn_planned_ = false;
  bool over_ = false;
  std::uint64_t deadline_plan_ = 0;
};

}  // namespace dlock::sim
