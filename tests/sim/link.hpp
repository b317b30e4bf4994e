// SPDX-License-Identifier: MIT
// Link: the store thread of one run, its connections, and the network behind them. It keeps the
// promises of the seam as StoreWorker and RedisClient do: one question at a time, each with a
// limit; after a failure the connection is dropped, and what still comes on it is never read.
#pragma once

#include "core/run_session.hpp"

#include <deque>
#include <functional>
#include <optional>

#include "sim/scene.hpp"

namespace dlock::sim {

class Link {
 public:
  Link(Process& process, HoldId hold, Duration ttl, const Weather& weather)
      : process_(process), scene_(process.scene()), hold_(hold), ttl_(ttl), weather_(weather) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void ask(const action::Ask& what);
  void cancel();
  void reset();  // the other end, or something between, hangs up
  std::optional<StoreAnswer> next_answer();

  std::function<void()> on_answer;

 private:
  struct Sent {
    std::uint64_t call = 0;
    action::Ask::What what{};
    Time sent_at;
    bool healed = false;  // sent when all was well again
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
  void wake_waiter();
  void fail(std::uint64_t call, Error error);
  void finish(std::uint64_t call, StoreAnswer answer);
  Duration trip();
  std::string words_for(action::Ask::What what) const;

  Process& process_;
  Scene& scene_;
  HoldId hold_;
  Duration ttl_;
  const Weather& weather_;
  std::deque<action::Ask> asks_;  // the front one is being carried out
  std::deque<StoreAnswer> answers_;
  std::uint64_t call_ = 0;  // the number of the front one; a connection lives no longer than a call
  bool connected_ = false;
  bool subscribed_ = false;
  std::uint64_t subscription_ = 0;
  bool message_ = false;
};

}  // namespace dlock::sim
