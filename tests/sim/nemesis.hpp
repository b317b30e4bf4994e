// SPDX-License-Identifier: MIT
// Nemesis: what goes wrong, when and for whom. Most of it aims at whoever holds the lock; a third
// of a lease to two leases long, so that some of it ends before and some after every deadline.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/run.hpp"

namespace dlock::sim {

// A host that runs one dlock after the other.
struct Client {
  std::string name;
  Hearing hearing = Hearing::all;
  DriftingClock clock;
  LeaseTerms lease;
  std::uint32_t slots = 0;  // as many as it thinks there are
  Weather weather;
  Run* run = nullptr;  // the present or last one
  int runs_left = 0;
};

class Nemesis {
 public:
  Nemesis(Scene& scene, std::vector<Client>& clients, Duration ttl, std::size_t names);
  void start() { plan(); }

 private:
  using Fault = void (Nemesis::*)(Client&);

  static bool spares_waiters(Fault fault);
  void plan();
  void strike();
  Client& victim();
  NameId any_name();
  Duration span() { return scene_.dice.between(ttl_ / 4, ttl_ * 9 / 4); }
  // For a while: begins now, ends then.
  void during(Duration time, int& counter, Duration& calm_since);
  void say(const Client& client, const char* what);
  void freeze_now(Client& client, Run& run, Duration time);
  void at_next_turn(std::function<void(Client&)> fault);
  void resume_after(Duration time, Client& client, Run& run);

  void freeze(Client& client);
  void freeze_at_a_point(Client& client);
  void crash(Client& client);
  void crash_at_a_point(Client& client);
  void fail_at_a_turn(Client& client);
  void signal_at_a_turn(Client& client);
  void terminal_stop(Client& client);
  void signal(Client& client);
  void freeze_guard(Client& client);
  void kill_guard(Client& client);
  void stop_child(Client& client);
  void black_hole(Client& client);
  void lose_answers(Client& client);
  void slow(Client& client);
  void reset(Client& client);
  void unreachable(Client& client);
  void copies(Client& client);
  void lose_messages(Client& client);
  void break_ears(Client& client);
  void late_answers_then_black_hole(Client& client);
  void stop_server(Client& client);
  void refuse(Client& client);
  void revoke(Client& client);
  void remove(Client& client);
  void forget(Client& client);
  void step_clock(Client& client);
  void lag(Client& client);
  void promote(Client& client);
  void stay_behind(Client& client);

  Scene& scene_;
  std::vector<Client>& clients_;
  Duration ttl_;
  std::size_t names_;
  Duration longest_gap_;
  std::vector<Fault> faults_;
};

}  // namespace dlock::sim
