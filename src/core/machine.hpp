// SPDX-License-Identifier: MIT
// What every machine of core shares. A machine decides what a command does and when: it reads no
// clock and touches nothing; app/driver.hpp feeds it with events and carries out its actions. It
// has
//   using Outcome = …;                         how the command ended
//   std::vector<an action variant> start(Time now);
//   … on(E event, Time now);                   for event::Tick and each event that it can get
//   std::optional<Time> next_deadline() const; when it wants event::Tick; nothing: never
// Its actions are action::Ask (one answer each), action::CancelAsk and action::Say, one action with
// an `outcome`, which comes once and last, and others that only its own command can carry out.
#pragma once

#include "core/ask.hpp"
#include "core/notice.hpp"

namespace dlock {

namespace event {
struct Tick {};  // next_deadline() came
struct Signal {  // came to this process
  int number = 0;
};
struct Resumed {};       // this process was stopped, perhaps for hours, and continues
struct ProcessEnded {};  // the process that the command goes by
}  // namespace event

namespace action {
struct Say {
  Notice notice;
};
}  // namespace action

}  // namespace dlock
