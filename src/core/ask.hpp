// SPDX-License-Identifier: MIT
// The requests of a dlock command to its store, as values. An Ask is a request; each gets one
// StoreAnswer, in the order of the asks. The machines of core, such as AcquireLoop, make the asks.
// StoreWorker carries them out; in the simulation (./dev sim) a model of a store does.
#pragma once

#include "core/lock_store.hpp"

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

namespace dlock {

namespace action {
struct Ask {
  enum class What {
    acquire,
    watch,
    await_hand_off,
    watch_hold,
    renew,
    check,
    release,
    undo,   // give up what a claim may hold whose answer was lost (store/undo.hpp)
    leave,  // leave the line
    inspect,
    call,  // a request that only the command knows (RetryLoop)
  };
  What what = What::acquire;
  Time limit;  // when this one call must have ended
  // For acquire: how the claim waits in line if it is refused. For undo and leave: how it waited
  // after the newest acquire.
  Queueing queueing = Queueing::no;
  bool front = false;                   // for watch
  ReleaseOptions release_options = {};  // for release
  std::size_t which = 0;  // for inspect: index of the name; for RenewLoop: index of the hold
  // For renew: the processes of the run, which the first confirmed renewal records.
  std::optional<RunProcesses> processes = {};
};
struct CancelAsk {};  // interrupts the running ask, which still gets an answer
}  // namespace action

// A hold of a dead holder that the store worker has released to make room (store/dead_holders.hpp).
struct Reclaimed {
  std::size_t which = 0;  // index of the name
  Holding holding;        // shows this hold only
};

namespace event {
struct Acquired {
  Result<AcquireReply> answer;
  std::vector<Reclaimed> reclaimed = {};  // before the answer
};
struct Watched {  // the answer to watch, and to watch_hold
  Result<Watching> answer;
};
struct HandedOff {
  Result<HandOff> answer;
};
struct Renewed {  // the answer to renew, and to check
  Result<RenewReply> answer;
};
struct Released {  // the answer to release, undo and leave
  Result<ReleaseVerdict> answer;
};
struct Inspected {
  Result<Holding> answer;
  std::vector<Reclaimed> reclaimed = {};  // before the answer
};
struct Called {  // the answer to call: success or error; the command keeps any other result
  Result<void> answer;
};
}  // namespace event
using StoreAnswer = std::variant<event::Acquired,
                                 event::Watched,
                                 event::HandedOff,
                                 event::Renewed,
                                 event::Released,
                                 event::Inspected,
                                 event::Called>;

// Returns whether `asked`, a new ask, interrupts the running one. Any ask is more important than
// waiting for a hand-off, watching a hold or checking it. A release interrupts a renewal: a
// connection without answers must not keep a lock that its command no longer needs.
constexpr bool gives_way(action::Ask::What running, action::Ask::What asked) {
  using What = action::Ask::What;
  switch (running) {
    case What::await_hand_off:
    case What::watch_hold:
    case What::check:
      return true;
    case What::renew:
      return asked == What::release;
    case What::acquire:
    case What::watch:
    case What::release:
    case What::undo:
    case What::leave:
    case What::inspect:
    case What::call:
      return false;
  }
  return false;
}

}  // namespace dlock
