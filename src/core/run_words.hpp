// SPDX-License-Identifier: MIT
// The interface of RunSession: what happened (events), what to do (actions), and how a run ended.
// The requests to the store and their answers are in ask.hpp.
#pragma once

#include "core/child_status.hpp"
#include "core/lock_store.hpp"
#include "core/machine.hpp"
#include "core/release_loop.hpp"

#include <optional>
#include <span>
#include <variant>

namespace dlock {

// The events that only a run has. The events that every machine has are in machine.hpp, the answers
// of the store in ask.hpp.
namespace event {
struct StartFailed {  // there is no child: fork or something that it needs failed
  Error error;
};
struct TakenOver {};  // for acquire: the caller has the grant; there will be no child
struct ChildEnded {   // the child was reaped
  ChildStatus status;
  bool group_alive = false;  // other processes of the child's group still run
  std::size_t strays = 0;    // descendants outside the child's group that still run
};
struct GroupGone {};  // the last process of the group has ended
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
  Duration waited{};  // until the grant or until waiting ended
  Duration held{};    // from the grant to the end of the release
  bool lost = false;  // the lease was lost before the release, or the release found it lost
  Released released = Released::nothing;
};

struct Outcome {
  enum class Kind {
    child,        // the command has ended, as `child` says
    taken,        // for acquire: the caller has the grant; nothing was released
    busy,         // the lock was busy, as `refusal` says
    superseded,   // a later claim took its place in line, as Refusal::superseded_by says
    done,         // not needed: a successful run was granted a short while ago
    failed,       // the child never started, because of `error`
    lost,         // the child was stopped because the lease was lost
    time_up,      // the child was stopped because of max_hold or --no-renew
    signalled,    // `signal` came while there was no child
    unavailable,  // --on-unavailable skip: the store is away, because of `error`; nothing was run
    unlocked,  // --on-unavailable run: the command ran without the lock, and ended as `child` says
  };
  Kind kind = Kind::failed;
  ChildStatus child;
  std::optional<Refusal> refusal;
  Duration seen_ago{};  // age of `refusal`
  Error error;
  int signal = 0;
  RunSummary summary;

  // Returns whether the command ran, however it ended.
  bool ran() const {
    const bool had_child = kind == Kind::child || kind == Kind::lost || kind == Kind::time_up ||
                           kind == Kind::unlocked;
    return had_child && child.kind != ChildStatus::Kind::not_started;
  }
  // Returns whether the command could not be executed.
  bool not_started() const {
    const bool ended = kind == Kind::child || kind == Kind::unlocked;
    return ended && child.kind == ChildStatus::Kind::not_started;
  }
  // Returns whether the command ended by itself, with exit status 0.
  bool succeeded() const {
    const bool ended = kind == Kind::child || kind == Kind::unlocked;
    return ended && child == ChildStatus{ChildStatus::Kind::exited, 0};
  }
};

// Returns the outcome as the result file and the metrics name it.
const char* outcome_word(const Outcome& outcome);
// Returns the words of all outcomes. "taken" is for acquire only.
std::span<const char* const> outcome_words();

// What to do besides the actions of every machine.
namespace action {
struct StartChild {
  Holds holds;   // empty: the command runs without the lock (OnUnavailable::run)
  Time kill_at;  // the guard's first deadline
};
struct SetGuard {  // the guard's deadline has moved
  Time kill_at;
};
struct SignalGroup {
  int signal = 0;
  bool wake = false;  // send CONT as well, so that a stopped child can react
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
