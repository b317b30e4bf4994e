// SPDX-License-Identifier: MIT
// QuorumWorld: the servers of a quorum, and clients that acquire one lock there, in fake time. Each
// server has a clock of its own, which may jump, and may restart without its data. Requests and
// answers are delayed or lost; a request that was given up may still be executed, even twice. The
// machines of core/quorum_*.hpp are the real ones, driven as QuorumStore drives them.
#pragma once

#include "core/quorum.hpp"
#include "store/table/lease_table.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace dlock::test {

struct QuorumTerms {
  std::size_t servers = 3;
  std::size_t clients = 3;
  Duration ttl{};
  Duration delay{};         // how long a restarted server grants nothing; at least ttl
  Duration clocks_apart{};  // the largest difference between the clocks of servers
  unsigned trouble = 0;     // percentage of messages that are lost or late
  bool restarts = false;
  bool jumps = false;
  bool lines = false;  // the claims wait in line
};
// Returns random terms.
QuorumTerms some_quorum_terms(std::mt19937& random);

// Actions, and when they are due.
class Agenda {
 public:
  Time now() const { return now_; }
  void at(Time time, std::function<void()> what) { all_.emplace(time, std::move(what)); }
  void after(Duration pause, std::function<void()> what) { at(now_ + pause, std::move(what)); }
  // Runs all actions that are due until then.
  void run(Time until);

 private:
  Time now_{std::chrono::hours(1)};
  std::multimap<Time, std::function<void()>> all_;
};

struct QuorumServer {
  lease_table::StoredLock lock = {};
  Duration offset{};  // how far the clock of the server is ahead
  long rate = 0;      // how much faster the clock runs, in millionths
  Time up_since;      // later than now: the server is down
  lease_table::StoreTime clock(Time now) const;
  // Answers as a Redis store does: a server that started recently executes the request, but says
  // that its answer does not count.
  quorum::Answer carry_out(const quorum::Ask& ask, Time sent_at, Time now);
};

// Checks whether the beliefs of the clients are consistent.
struct QuorumJudge {
  struct Belief {
    Time until;
    bool holds = false;
  };
  std::vector<Belief> beliefs;  // one for each client
  FencingToken token = 0;       // token of the newest grant
  std::string granted_to;       // round of the newest grant
  std::string violation;        // the first violation; empty: there was no violation
  unsigned grants = 0;

  void on_grant(std::size_t client, const Hold& hold, Time until, Time now);
  void on_renewal(std::size_t client, Time until, Time now);
  void on_end(std::size_t client) { beliefs[client].holds = false; }

 private:
  void look(std::size_t client, Time now);
};

class QuorumClient;

class QuorumWorld {
 public:
  explicit QuorumWorld(unsigned seed);
  QuorumWorld(const QuorumWorld&) = delete;
  QuorumWorld& operator=(const QuorumWorld&) = delete;
  ~QuorumWorld();

  // Runs the world. At the end all faults stop; returns whether a new claim is then granted.
  bool play();
  const QuorumJudge& judge() const { return judge_; }
  unsigned completed = 0;  // grants by servers that had no part of the hold
  unsigned restarted = 0;
  unsigned jumped = 0;

  const QuorumTerms& terms() const { return terms_; }

 private:
  friend class QuorumClient;
  bool one_in(unsigned n) { return random_() % n == 0; }
  bool mishap(unsigned one_in_so_many) { return !calm_ && one_in(one_in_so_many); }
  Duration between(Duration least, Duration most);
  FencingToken proposed_token();
  Duration latency();
  // Delivers the ask, or loses it. `answered` is called at most once, before the limit of the ask.
  void send(const quorum::Ask& ask, const std::function<void(quorum::Answer)>& answered);
  void break_something();
  bool may_forget(std::size_t server) const;
  std::size_t alive_beside(std::size_t server, const OwnerId& owner, Time until) const;

  std::mt19937 random_;
  QuorumTerms terms_;
  Agenda agenda_;
  QuorumJudge judge_;
  bool calm_ = false;
  std::vector<QuorumServer> servers_;
  std::vector<std::unique_ptr<QuorumClient>> clients_;
};

}  // namespace dlock::test
