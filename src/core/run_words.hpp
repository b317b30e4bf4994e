// SPDX-License-Identifier: MIT
// The interface between a RunSession and its surroundings: what happened (events), what to do
// (actions), and how a run ended. The requests to the store and their answers are in ask.hpp.
#pragma once

#include "core/child_status.hpp"
#include "core/lock_store.hpp"
#include "core/machine.hpp"
#include "core/release_loop.hpp"

#include <optional>
#include <variant>

namespace dlock {

// Events besides the answers of the store and the events of every machine.
namespace event {
struct StartFailed {  // no child: fork or a resource that it needs failed
  Error error;
};
struct TakenOver {};  // acquire: the caller has the grant, and there will be no child
struct ChildEnded {   // reaped
  ChildStatus status;
  bool group_alive = false;  // processes of its group still run
  std::size_t strays = 0;    // descendants outside its group that still run
};
struct GroupGone {};  // its last process ended
}  // namespace event
using Event = std::variant<event::Acquired,
                           event::Watched,
                           event::HandedOff,
                           event::Renewed,
                           event::Released,
                           event::Signal,
                           event::StartFailed,
                           event::TakenOver,
                           event::ChildEnded,
                           event::GroupGone,
                           event::Resumed,
                           event::Tick>;

// The figures of a run, for its result file.
struct RunSummary {
  using Released = dlock::Released;
  Holds holds;        // empty: never granted
  Duration waited{};  // until the grant or the end of the wait
  Duration held{};    // from the grant to the end of the release
  bool lost = false;  // the lease could not be kept to the end, or was not ours at the release
  Released released = Released::nothing;
};

struct Outcome {
  enum class Kind {
    child,      // as `child` says
    taken,      // acquire: the caller has the grant; nothing was released
    busy,       // gave up waiting; `refusal`
    done,       // not wanted: a run that succeeded was granted a short while ago
    failed,     // never started: `error`
    lost,       // the child was stopped because of the lease
    time_up,    // the child was stopped because of max_hold, or at the end of a fixed lease
    signalled,  // `signal` came while there was no child
  };
  Kind kind = Kind::failed;
  ChildStatus child;
  std::optional<Refusal> refusal;
  Duration seen_ago{};  // how old the refusal is
  Error error;
  int signal = 0;
  RunSummary summary;
};

// What to do.
namespace action {
struct StartChild {
  Holds holds;
  Time kill_at;  // the guard's first deadline
};
struct SetGuard {  // its deadline has moved
  Time kill_at;
};
struct SignalGroup {
  int signal = 0;
  bool wake = false;  // CONT after it, so that a stopped child can act on it
};
struct Finish {
  Outcome outcome;
};
}  // namespace action
using Action = std::variant<action::Ask,
                            action::CancelAsk,
                            action::StartChild,
                            action::SetGuard,
                            action::SignalGroup,
                            action::Say,
                            action::Finish>;

}  // namespace dlock
