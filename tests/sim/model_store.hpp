// SPDX-License-Identifier: MIT
// ModelStore: what a store promises (core/lock_store.hpp), as small as it can be said. One lock,
// one owner for each hold, a clock of its own, and a line of those who wait. It is written apart
// from the stores of dlock, so that a mistake there is not one here.
#pragma once

#include "core/lock_store.hpp"

#include <deque>
#include <functional>
#include <optional>

#include "sim/judge.hpp"

namespace dlock::sim {

class ModelStore {
 public:
  ModelStore(const Agenda& agenda, Judge& judge, Trace& trace, DriftingClock clock)
      : agenda_(agenda), judge_(judge), trace_(trace), clock_(clock) {}

  // What a dlock asks. Each is one script: all or nothing, at the present moment.
  std::optional<FencingToken> acquire(HoldId hold, Duration ttl, Stand stand);  // nothing: busy
  RenewVerdict renew(HoldId hold, Duration ttl);
  RenewVerdict check(HoldId hold);
  ReleaseVerdict release(HoldId hold);
  void leave(HoldId hold);

  // What others do to it. Only revoke() belongs to the guaranteed class of faults.
  void revoke();
  void remove(bool told);  // the lock, by hand; waiters may be told
  void forget();           // everything, the newest token and the line too
  void step_clock(Duration forward);

  // How it stands. Whoever looks sees an expired lease end.
  std::optional<HoldId> holder();
  Duration lease_left();  // of a free lock: of the turn of the first
  std::size_t waiting() const { return line_.size(); }
  std::size_t place(HoldId hold) const;  // 1 is next; 0: none
  std::optional<HoldId> first() const;

  // Controls.
  bool replay_extends = true;  // false: the trap of faults.md 2.3-3
  bool turns_passed_on = true;
  bool first_is_called = true;

  std::function<bool(HoldId, HandOff)> call;  // somebody heard it
  std::function<void(std::optional<HoldId> by, bool release)> on_change;

 private:
  struct Waiting {
    HoldId who = 0;
    bool polls = false;
    Time lives_until;  // unless it is heard of before
  };

  Time now() const { return clock_.at(agenda_.now()); }
  Time end_of(Duration ttl) const;
  void look();
  void make_free();
  bool is_next(HoldId hold);
  void stand(HoldId hold, bool polls);
  void step_out(HoldId hold);
  void forget_silent();
  void call_first();

  const Agenda& agenda_;
  Judge& judge_;
  Trace& trace_;
  DriftingClock clock_;
  std::optional<HoldId> owner_;
  Time expires_;
  bool revoked_ = false;
  FencingToken token_ = 0;
  std::deque<Waiting> line_;
  Duration looked_at_{};  // the last time; the clock may have been stepped since
};

}  // namespace dlock::sim
