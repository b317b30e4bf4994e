// SPDX-License-Identifier: MIT
// QuorumWorld: servers of a quorum and clients that take one lock there, in fake time. Each server
// has a clock of its own; it may restart without its data, and its clock may jump. Requests and
// answers are late or lost; a request that was given up may still be carried out, also twice. The
// machines of core/quorum_*.hpp are the real ones, driven as QuorumStore does it.
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
  Duration delay{};         // of a server that has restarted; at least ttl
  Duration clocks_apart{};  // by as much as servers' clocks may differ
  unsigned trouble = 0;     // of a hundred messages so many are lost or late
  bool restarts = false;
  bool jumps = false;
  bool lines = false;  // the claims wait in line
};
// Any of them, by the seed.
QuorumTerms some_quorum_terms(std::mt19937& random);

// What somebody has to do, and when.
class Agenda {
 public:
  Time now() const { return now_; }
  void at(Time time, std::function<void()> what) { all_.emplace(time, std::move(what)); }
  void after(Duration pause, std::function<void()> what) { at(now_ + pause, std::move(what)); }
  // All that is due until then.
  void run(Time until);

 private:
  Time now_{std::chrono::hours(1)};
  std::multimap<Time, std::function<void()>> all_;
};

struct QuorumServer {
  lease_table::StoredLock lock = {};
  Duration offset{};  // of its clock
  long rate = 0;      // a millionth that it is faster
  Time up_since;      // later than now: it is down
  lease_table::StoreTime clock(Time now) const;
  // As a Redis store: a server that is young carries it out, and says that it does not count.
  quorum::Answer carry_out(const quorum::Ask& ask, Time sent_at, Time now);
};

// Whether what the clients believe can be.
struct QuorumJudge {
  struct Belief {
    Time until;
    bool holds = false;
  };
  std::vector<Belief> beliefs;  // one for each client
  FencingToken token = 0;       // of the newest grant
  std::string granted_to;       // its round
  std::string violation;        // empty: none so far
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

  // Plays; at the end all is calm, and whether a new claim is granted then.
  bool play();
  const QuorumJudge& judge() const { return judge_; }
  unsigned completed = 0;  // grants of servers that had no part of a hold
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
  // Carries it out, or not; `answered` is called at most once, before the limit of the ask.
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
