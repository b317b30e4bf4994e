// SPDX-License-Identifier: MIT
// What the parts of one simulation share: time, chance, the server, and the judge. And a Process,
// which can be stopped, continued and killed at any point, as its kernel would do it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "sim/judge.hpp"
#include "sim/model_store.hpp"
#include "sim/time.hpp"

namespace dlock::sim {

struct Rules {
  FaultClass faults = FaultClass::guaranteed;
  bool calm = false;        // nothing fails that could cost a waiter its place
  bool dlock_fails = true;  // is frozen, or dies; some worlds are without that, and without guards
  bool replicated = false;  // the server has a replica, which can become the server
  // Controls: each makes the world break its part of the bargain, and the judge has to see it.
  bool guards = true;
  bool steady_rates = true;            // within one per cent of each other
  bool store_remembers = true;         // under guaranteed faults
  bool acknowledged = true;            // a grant counts when the replica has it: --replicas 1
  bool ModelStore::*broken = nullptr;  // one of its promises
};

// What is wrong now on one client's way to the server. Counters, as faults may lie over each other.
struct Weather {
  int requests_lost = 0;
  int answers_lost = 0;
  int unreachable = 0;  // no new connection
  int copied = 0;       // requests come twice
  int copies_due = 0;   // and some of them later
  int slow = 0;
  Duration slowest{};       // while it is slow
  Duration answers_late{};  // every answer, by this much
  int messages_lost = 0;    // of the subscription
  int behind = 0;           // the client asks the old master, and all others the new one
  Duration calm_since{};    // the end of the last of it, and of what else befell the client
  bool calm() const {
    return requests_lost + answers_lost + unreachable + copies_due + slow + messages_lost +
                   behind ==
               0 &&
           answers_late == Duration::zero();
  }
};

// One subscription, as the server sees it.
struct Subscriber {
  HoldId whose = 0;
  std::vector<NameId> names;
  bool turns = false;     // its own in the line
  bool releases = false;  // messages of releases
  bool changes = false;   // key tracking: changes of the lock by others
  std::function<void(HandOff)> hear;
};

class Server {
 public:
  Server(Agenda& agenda, Judge& judge, Trace& trace, DriftingClock clock)
      : store(agenda, judge, trace, clock), agenda_(agenda) {}
  // A stopped server reads what came meanwhile when it goes on.
  void when_up(std::function<void()> what);
  void stop() { ++stopped_; }
  void go_on();
  void heal();

  // Subscriptions. The return of call() is what the server believes.
  std::uint64_t listen(Subscriber subscriber);
  void hang_up(std::uint64_t number) { subscribers_.erase(number); }
  Subscriber* subscriber(std::uint64_t number);
  bool call(HoldId whose, HandOff word);
  void tell_of_change(NameId name, std::optional<HoldId> by, bool release);
  std::function<void(HoldId)> at_next_turn;  // whose it is
  bool well() const { return stopped_ == 0 && refusing == 0 && copies_stopped == 0; }

  // The replica: WAIT, what arrives there, and its promotion, which closes every connection.
  void when_copied(std::function<void(bool copied)> then);
  void copy();
  void promote();

  ModelStore store;
  int refusing = 0;  // every question is answered with an error: this one
  Errc refusal = Errc::unavailable;
  int copies_stopped = 0;  // the replica gets nothing
  Duration calm_since{};

 private:
  struct Unconfirmed {
    std::uint64_t number = 0;  // of the question
    std::function<void(bool)> then;
  };

  Agenda& agenda_;
  int stopped_ = 0;
  std::vector<std::function<void()>> waiting_;
  std::deque<Unconfirmed> unconfirmed_;
  std::uint64_t asked_ = 0;
  std::map<std::uint64_t, Subscriber> subscribers_;
  std::uint64_t subscribers_made_ = 0;
};

struct Scene {
  Scene(std::uint64_t seed, const Rules& the_rules, bool traced, DriftingClock server_clock)
      : rules(the_rules),
        dice(seed),
        trace(traced),
        judge(agenda, trace, rules.faults),
        server(agenda, judge, trace, server_clock) {}
  Duration now() const { return agenda.now(); }

  Rules rules;
  Dice dice;
  Agenda agenda;
  Trace trace;
  Judge judge;
  Server server;
  bool healed = false;
};

class Process {
 public:
  Process(Scene& scene, const DriftingClock& clock, Duration slowest_turn)
      : scene_(scene), clock_(clock), slowest_turn_(slowest_turn) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual ~Process() = default;

  // Where a directed fault may hit.
  enum class Point { turn, send, start };
  void at_next(Point point, std::function<void()> fault) { trap_ = {point, std::move(fault)}; }

  void freeze() { frozen_ = true; }
  void go_on();
  void die() { dead_ = true; }
  bool runs() const { return !dead_ && !frozen_; }
  bool frozen() const { return frozen_ && !dead_; }
  bool dead() const { return dead_; }

  // Things a thread of it does: when it is stopped then, they are done after it was continued, and
  // the order of what was due by then is open.
  void later(Duration pause, std::function<void()> what);
  void at_local(Time when, std::function<void()> what);
  // A thread that has something to do gets the processor after this.
  Duration lag();
  // Returns whether each of its threads gets the processor early enough to send, within the 150 ms
  // that a run has for it, that it leaves the line.
  bool keeps_up() const { return slowest_turn_ < std::chrono::milliseconds(100); }
  Time shown() const { return clock_.at(scene_.now()); }
  Scene& scene() const { return scene_; }
  void reached(Point point);

 private:
  void when_awake(std::function<void()> what);

  Scene& scene_;
  const DriftingClock& clock_;
  Duration slowest_turn_;
  bool frozen_ = false;
  bool dead_ = false;
  std::vector<std::function<void()>> held_back_;
  std::optional<std::pair<Point, std::function<void()>>> trap_;
};

}  // namespace dlock::sim
