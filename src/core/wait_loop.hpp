// SPDX-License-Identifier: MIT
// WaitLoop: waiting for a lock, as the machines of several commands do it. It owns an AcquireLoop,
// turns its steps into asks and sleeps, and reports the wait (WaitNotices). The machine that owns
// the WaitLoop decides what follows.
#pragma once

#include "core/acquire_loop.hpp"
#include "core/machine.hpp"
#include "core/wait_notices.hpp"

#include <optional>
#include <variant>
#include <vector>

namespace dlock {

class WaitLoop {
 public:
  using End = std::variant<step::Granted, step::Busy, step::Done, step::Failed>;
  struct Turn {
    std::vector<std::variant<action::Ask, action::Say>> actions;
    std::optional<End> end;  // set once, in the last Turn
  };

  // `notice_every`: the time between two reports of the wait; zero: doubling pauses.
  WaitLoop(const AcquireTerms& terms, Duration notice_every, std::uint64_t seed, Time now);

  Turn start(Time now);
  Turn on(event::Acquired event, Time now);
  Turn on(const event::Watched& event, Time now);
  Turn on(const event::HandedOff& event, Time now);
  Turn on(event::Tick event, Time now);
  std::optional<Time> next_deadline() const;

  // Returns whether an ask is unanswered. To be called only while the wait lasts.
  bool asking() const { return !sleep_until_; }
  const AcquireLoop& acquire() const { return acquire_; }
  // The longest time that an answer to a claim took, connecting included; 0: no answer yet.
  Duration slowest_answer() const { return slowest_answer_; }
  void move_deadline(Time deadline) { acquire_.move_deadline(deadline); }

 private:
  void take(AcquireStep step, Turn& turn, Time now);
  WaitView view() const;

  AcquireTerms terms_;
  AcquireLoop acquire_;
  WaitNotices notices_;
  std::optional<Time> sleep_until_;
  Time asked_at_;
  Duration slowest_answer_{};
};

}  // namespace dlock
