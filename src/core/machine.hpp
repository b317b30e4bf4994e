// SPDX-License-Identifier: MIT
// The interface of every machine of core. A machine decides what a command does and when. It reads
// no clock and touches nothing: app/driver.hpp passes events to it and carries out its actions. A
// machine has
//   using Outcome = …;                         how the command ended
//   std::vector<an action variant> start(Time now);
//   … on(E event, Time now);                   for event::Tick and each event that it can get
//   std::optional<Time> next_deadline() const; when it wants event::Tick; nullopt: never
// Its actions are action::Ask (each gets one answer), action::CancelAsk and action::Say; one action
// with an `outcome`, which comes once and last; and others that only its own command can carry out.
#pragma once

#include "core/ask.hpp"
#include "core/notice.hpp"

namespace dlock {

namespace event {
struct Tick {};  // the time of next_deadline() has come
struct Signal {  // a signal for this process
  int number = 0;
};
struct Resumed {};       // this process was stopped, perhaps for hours, and continues
struct ProcessEnded {};  // the process given to `renew --while` has ended
}  // namespace event

namespace action {
struct Say {
  Notice notice;
};
}  // namespace action

}  // namespace dlock
