// SPDX-License-Identifier: MIT
// Link: the store thread of one run, its connections, and the network behind them. It keeps the
// promises of the seam as StoreWorker and RedisClient do: one question at a time, each with a
// limit; after a failure the connection is dropped, and what still comes on it is never read. The
// subscription is another connection.
#pragma once

#include "core/run_session.hpp"

#include <deque>
#include <functional>
#include <optional>

#include "sim/scene.hpp"

namespace dlock::sim {

// What a user is told of by the server.
enum class Hearing {
  all,
  no_changes,  // turns and releases
  nothing,
};

class Link {
 public:
  Link(Process& process, HoldId hold, Duration ttl, const Weather& weather, Hearing hearing)
      : process_(process),
        scene_(process.scene()),
        hold_(hold),
        wants_(process.scene().judge.wants(hold)),
        held_(wants_),
        ttl_(ttl),
        weather_(weather),
        hearing_(hearing) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() = default;

  void ask(const action::Ask& what);
  void cancel();
  void reset();  // the other end, or something between, hangs up
  void break_ears();
  void close_ears();  // a black hole keeps it from the server
  void forget_half_open();
  std::optional<StoreAnswer> next_answer();

  std::function<void()> on_answer;
  std::function<Holding()> inspected;  // what the store answers to inspect, when that arrives there

 private:
  struct Sent {
    std::uint64_t call = 0;
    action::Ask ask;
    Time sent_at;
    bool healed = false;  // sent when all was well again
    Wants held;           // what it is about, if it is about a hold
  };
  struct Said {  // by the server
    StoreAnswer answer;
    std::optional<Time> not_yours_at;
  };

  void begin();
  void connect(std::uint64_t call);
  void subscribe(std::uint64_t call);
  void send(std::uint64_t call);
  void depart(const Sent& sent);
  void arrive(const Sent& sent, bool copy);
  Said carry_out(const Sent& sent);
  Said ask_old_master(const Sent& sent);
  void confirm(const Sent& sent, Said said);
  void reply(const Sent& sent, Said said);
  void hear(std::uint64_t subscriber, HandOff word);
  void wake_waiter();
  StoreAnswer acquire(const Sent& sent);
  Said verdict(const Sent& sent);
  void fail(std::uint64_t call, Error error);
  void finish(std::uint64_t call, StoreAnswer answer);
  Duration trip();
  std::string words_for(action::Ask::What what) const;

  Process& process_;
  Scene& scene_;
  HoldId hold_;
  Wants wants_;
  Wants held_;  // from the grant on, only what was granted
  Duration ttl_;
  const Weather& weather_;
  std::deque<action::Ask> asks_;  // the front one is being carried out
  std::deque<StoreAnswer> answers_;
  std::uint64_t call_ = 0;  // the number of the front one; a connection lives no longer than a call
  bool connected_ = false;
  Hearing hearing_;
  std::uint64_t subscriber_ = 0;  // its number there; 0: none
  bool subscribed_ = false;
  std::vector<std::uint64_t> half_open_;
  HandOff message_ = HandOff::timed_out;  // the best of those that wait to be read
};

}  // namespace dlock::sim
