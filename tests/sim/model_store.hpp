// SPDX-License-Identifier: MIT
// ModelStore: what a store promises (core/lock_store.hpp), as small as it can be said. A few names,
// one owner for each hold, a clock of its own, and a line for each name of those who wait. It is
// written apart from the stores of dlock, so that a mistake there is not one here.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <variant>

#include "sim/judge.hpp"

namespace dlock::sim {

class ModelStore {
 public:
  ModelStore(const Agenda& agenda, Judge& judge, Trace& trace, DriftingClock clock)
      : agenda_(agenda), judge_(judge), trace_(trace), clock_(clock) {}

  // What a dlock asks. Each is one script: all or nothing, at the present moment.
  using Reply = std::variant<Taken, Refusal, Done, Error>;
  Reply acquire(HoldId hold, const Wants& wants, Duration ttl, Queueing queueing);
  RenewReply renew(HoldId hold, const Wants& wants, Duration ttl);
  RenewReply check(HoldId hold, const Wants& wants);
  ReleaseVerdict release(HoldId hold, const Wants& wants, const ReleaseOptions& options);
  void leave(HoldId hold);
  Holding inspect(NameId name);

  // What others do to it. Only revoke() belongs to the guaranteed class of faults.
  void revoke(NameId name);
  void remove(NameId name, bool told);  // the lock, by hand; waiters may be told
  void forget();                        // everything, the newest token and the lines too
  void step_clock(Duration forward);

  // A replica. It gets all there is at once: what it got an instant later is no other case.
  void copy();
  // The replica is the store from now on: grants and renewals that it has not got are gone.
  // Whatever ends a hold or concerns a line is there at once; to lose it only costs time.
  void promote();

  // How it stands. Whoever looks sees an expired lease end.
  std::vector<HoldId> holders();
  bool holds(HoldId hold);
  std::vector<HoldId> holders_of(NameId name);
  bool is_free(NameId name);           // nobody holds it, nobody who lives waits for it
  std::vector<HoldId> firsts() const;  // of the lines

  // Controls: false, and it is not the store that it should be.
  bool replay_extends = true;  // false breaks rule 3
  bool turns_passed_on = true;
  bool first_is_called = true;
  bool readers_wait = true;   // behind a writer that waits
  bool writers_alone = true;  // a reader is no obstacle to a writer
  bool slots_counted = true;  // one more than there are
  bool slots_told_apart = true;
  bool all_or_none = true;  // a claim takes what there is
  bool keeps = true;        // what ReleaseOptions::keep says
  bool remembers_success = true;
  bool one_suffices = true;  // false: a repeated claim of one of several takes another one

  std::function<bool(HoldId, HandOff)> call;  // somebody heard it
  std::function<void(NameId, std::optional<HoldId> by, bool release)> on_change;

 private:
  struct Present {
    HoldId who = 0;
    Wants wants;
    Time expires;
    std::optional<Time> expires_on_replica;  // nullopt: the hold is not there
    Time granted;
    std::uint32_t slot = 0;
    bool revoked = false;
    bool kept = false;  // who is gone
  };
  struct Lock {
    std::vector<Present> held;
    FencingToken token = 0;
    FencingToken token_on_replica = 0;
    std::deque<HoldId> line;
    std::optional<Time> success;  // when the newest run that succeeded was granted it
  };
  struct Waiter {
    Wants wants;
    bool polls = false;
    Time lives_until;  // unless it is heard of before
  };

  Time now() const { return clock_.at(agenda_.now()); }
  Time end_of(Duration ttl) const;
  void look();
  Present* present(NameId name, HoldId hold);
  bool has_room(NameId name, HoldId hold, const Wants& wants) const;
  std::uint32_t free_slot(NameId name) const;
  std::optional<Duration> success_ago(const Wants& wants) const;
  std::optional<Taken> replayed(HoldId hold, const Wants& wants, Duration ttl);
  Taken take(HoldId hold, const Wants& wants, Duration ttl);
  Refusal in_the_way(HoldId hold, const Wants& wants) const;
  std::optional<Taken> taken_one(HoldId hold, const Wants& wants, Duration ttl);
  Refusal none_of(HoldId hold, const Wants& wants) const;
  Duration lease_left(NameId name, const Wants& wants) const;

  // The line (model_line.cpp).
  std::size_t place(NameId name, HoldId hold) const;
  bool is_first(NameId name, HoldId hold) const;
  bool may_enter(HoldId hold, const Wants& wants) const;
  bool may_enter(HoldId hold, const Wants& wants, NameId name) const;
  bool is_turn_of(HoldId waiter, NameId name) const;
  void stand(HoldId hold, const Wants& wants, bool polls);
  void step_out(HoldId hold);
  void forget_silent();
  void drop(HoldId hold, const char* why);
  void call_next(NameId name, std::optional<HoldId> asker = {});
  void call_next_of(const Wants& wants, std::optional<HoldId> asker = {});

  const Agenda& agenda_;
  Judge& judge_;
  Trace& trace_;
  DriftingClock clock_;
  std::array<Lock, k_names> locks_;
  std::map<HoldId, Waiter> waiters_;
  Duration looked_at_{};  // the last time; the clock may have been stepped since
};

}  // namespace dlock::sim
