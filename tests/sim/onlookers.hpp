// SPDX-License-Identifier: MIT
// Onlookers: `dlock wait`, `dlock force-release` and `dlock renew --every` among the runs of a
// world, one of each after the other, with faults of their own. What must not happen:
//   X1   wait or force-release ends as free, and none of its looks found the lock so; or the
//   revoked
//        holder has it then
//   X2   wait or force-release asks for anything but a look, a watch or a message
//   X3   one of them goes on after its time: a wait with a limit, a force-release after the leases
//        that it waits for, a keeper after the end of its lease
//   X4   something to do after the end
//   X5   a renewal is asked for after the end of the lease, or after a verdict against the hold
//   X6   a keeper with which all was well loses its lease; or it ends as lost without a reason
#pragma once

#include "core/renew_loop.hpp"
#include "core/watch_loop.hpp"

#include <memory>
#include <vector>

#include "sim/actor.hpp"

namespace dlock::sim {

class Onlookers {
 public:
  Onlookers(Scene& scene, std::uint64_t seed, Duration ttl, std::size_t names);
  Onlookers(const Onlookers&) = delete;
  Onlookers& operator=(const Onlookers&) = delete;
  ~Onlookers();

  // Numbers a hold that is not a run's.
  std::function<HoldId(Judge::Newcomer)> new_hold;

  void start();
  void heal();  // no more faults; whatever runs comes to its end
  bool all_over() const;

 private:
  using Watcher = Actor<WatchLoop>;
  using Keeper = Actor<RenewLoop>;
  struct Watch;
  struct Keep;

  Judge::Newcomer newcomer(const char* what, NameId name);
  ActorSetting setting(HoldId hold);
  void begin_wait();
  void begin_force_release();
  void watch(const char* what, NameId name, WatchTerms terms, std::vector<HoldId> revoked);
  void watch_ended(Watch& watch, const WatchOutcome& outcome, Time now);
  void begin_keeping();
  void try_to_take(Judge::Newcomer who, HoldId hold);
  void keep(HoldId hold, const Judge::Newcomer& who, Time sent_at);
  void keeper_asks(Keep& keep, const action::Ask& ask, Time now);
  void keeper_hears(Keep& keep, const StoreAnswer& answer);
  void keeper_ended(Keep& keep, const RenewOutcome& outcome, Time now);
  void release(HoldId hold);
  template <class One>
  void trouble(One& one);
  void after(Duration pause, std::function<void()> what);

  Scene& scene_;
  Dice dice_;
  Duration ttl_;
  std::size_t names_;
  DriftingClock clock_;
  int made_ = 0;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::vector<std::unique_ptr<Keep>> keeps_;
};

}  // namespace dlock::sim
