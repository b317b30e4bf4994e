// SPDX-License-Identifier: MIT
// ModelStore: what a store promises (core/lock_store.hpp), as small as it can be said. One lock,
// one owner for each hold, a clock of its own. It is written apart from the stores of dlock, so
// that a mistake there is not one here.
#pragma once

#include "core/lock_store.hpp"

#include <functional>
#include <optional>

#include "sim/judge.hpp"

namespace dlock::sim {

class ModelStore {
 public:
  ModelStore(const Agenda& agenda, Judge& judge, Trace& trace, DriftingClock clock)
      : agenda_(agenda), judge_(judge), trace_(trace), clock_(clock) {}

  // What a dlock asks. Each is one script: all or nothing, at the present moment.
  std::optional<FencingToken> acquire(HoldId hold, Duration ttl);  // nothing: busy
  RenewVerdict renew(HoldId hold, Duration ttl);
  ReleaseVerdict release(HoldId hold);

  // What others do to it. Only revoke() belongs to the guaranteed class of faults.
  void revoke();
  void remove(bool told);  // the lock, by hand; waiters may be told
  void forget();           // everything, the newest token too
  void step_clock(Duration forward);

  // How it stands. Whoever looks sees an expired lease end.
  std::optional<HoldId> holder();
  Duration lease_left();

  bool replay_extends = true;     // false: the trap of faults.md 2.3-3, as a control
  std::function<void()> on_free;  // a hand-off is published

 private:
  Time now() const { return clock_.at(agenda_.now()); }
  Time end_of(Duration ttl) const;
  void look();
  void make_free();

  const Agenda& agenda_;
  Judge& judge_;
  Trace& trace_;
  DriftingClock clock_;
  std::optional<HoldId> owner_;
  Time expires_;
  bool revoked_ = false;
  FencingToken token_ = 0;
  Duration looked_at_{};  // the last time; the clock may have been stepped since
};

}  // namespace dlock::sim
