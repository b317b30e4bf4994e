// SPDX-License-Identifier: MIT
// MachineWorld: runs a machine of core that only calls a store, in fake time. It records what
// happens as one line, as World of scripted_world.hpp does: "0s inspect held, 0s watch front, 0s
// inspect held, 0s await changed, 3s inspect free, 3s end".
#pragma once

#include "core/machine.hpp"

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "support/played_store.hpp"
#include "support/world_words.hpp"

namespace dlock::test {

template <class Machine>
class MachineWorld {
 public:
  using Outcome = typename Machine::Outcome;
  static constexpr Time k_start{std::chrono::seconds(1000)};

  MachineWorld(Machine machine, PlayedStoreTerms terms)
      : store(std::move(terms), k_start), machine_(std::move(machine)) {}

  PlayedStore store;

  // Runs, or continues, until the machine has ended or `until` has come. Returns the transcript.
  std::string run(Duration until = std::chrono::hours(1)) {
    if (!std::exchange(begun_, true)) carry_out(machine_.start(now_));
    while (!outcome_) {
      const auto due = machine_.next_deadline();
      const auto answer = store.next();
      const Time when =
          std::max(now_, std::min(due.value_or(Time::max()), answer.value_or(Time::max())));
      if (when > k_start + until || ++steps_ > k_most_steps) break;
      now_ = when;
      if (due && *due <= now_) {
        carry_out(machine_.on(event::Tick{}, now_));
      } else {
        take_answer();
      }
    }
    return joined(transcript_);
  }

  // Passes an event from outside to the machine, now.
  template <class Event>
  void feed(Event event) {
    if (!outcome_) carry_out(machine_.on(std::move(event), now_));
  }

  std::string said() const { return joined(said_); }
  const std::vector<Notice>& notices() const { return notices_; }
  const std::vector<std::pair<action::Ask, Duration>>& asks() const { return asks_; }
  const std::optional<Outcome>& outcome() const { return outcome_; }
  Duration now() const { return now_ - k_start; }
  bool loops() const { return steps_ > k_most_steps; }

 private:
  static constexpr int k_most_steps = 200000;

  static std::string joined(const std::vector<std::string>& entries) {
    std::string all;
    for (const std::string& entry : entries)
      all += (all.empty() ? "" : ", ") + entry;
    return all;
  }

  void take_answer() {
    auto answered = store.answer(now_);
    transcript_[answered.entry] += mark_of(answered.answer);
    std::visit(
        [this](auto& event) {
          if constexpr (requires { machine_.on(std::move(event), now_); }) {
            carry_out(machine_.on(std::move(event), now_));
          }
        },
        answered.answer);
  }

  template <class Actions>
  void carry_out(Actions actions) {
    for (auto& action : actions)
      std::visit([this](auto& what) { act(what); }, action);
  }
  void act(const action::Ask& ask) {
    asks_.emplace_back(ask, now());
    transcript_.push_back(seconds_text(now()) + " " + ask_text(ask));
    store.ask(ask, transcript_.size() - 1, now_);
  }
  void act(const action::CancelAsk& /*cancel*/) { store.cancel(now_); }
  void act(const action::Say& say) {
    notices_.push_back(say.notice);
    said_.push_back(seconds_text(now()) + " " + word_for(say.notice.kind));
  }
  template <class End>
  void act(const End& end) {
    transcript_.push_back(seconds_text(now()) + " end");
    outcome_ = end.outcome;
  }

  Machine machine_;
  Time now_ = k_start;
  bool begun_ = false;
  int steps_ = 0;
  std::vector<std::string> transcript_;
  std::vector<std::string> said_;
  std::vector<Notice> notices_;
  std::vector<std::pair<action::Ask, Duration>> asks_;
  std::optional<Outcome> outcome_;
};

}  // namespace dlock::test
