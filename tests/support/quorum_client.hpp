// SPDX-License-Identifier: MIT
// QuorumClient: a client of a QuorumWorld. One process after another claims the lock, holds it as
// long as it may believe that the lock is its own, and then releases it or disappears.
#pragma once

#include "core/quorum_claim.hpp"
#include "core/quorum_hold.hpp"
#include "core/quorum_rounds.hpp"

#include <deque>
#include <memory>

#include "support/quorum_world.hpp"

namespace dlock::test {

class QuorumClient {
 public:
  QuorumClient(QuorumWorld& world, std::size_t number);
  void begin();  // starts a new process
  // Lets the current process end; no other process begins.
  void finish() { finishing_ = true; }
  bool was_granted() const { return granted_; }

  bool waits_for(std::size_t server) const { return lines_[server].busy; }
  // Returns whether this may be the owner of the running claim, or of the hold that the client
  // believes to have.
  bool claims_as(const OwnerId& owner) const { return claiming_ && round_.owner == owner; }
  bool holds_as(const OwnerId& owner) const { return !holds_.empty() && round_.owner == owner; }

 private:
  struct Sent {
    quorum::Ask ask;
    std::uint64_t drive = 0;  // number of the machine that waits for the answer
  };
  struct ServerLine {
    std::deque<Sent> waiting;
    bool busy = false;
  };
  // Calls `what` after `pause`, unless the process has ended by then. A frozen process does it when
  // it continues.
  void later(Duration pause, std::function<void()> what);
  std::function<void()> own(std::function<void()> what);

  void send(const quorum::Asks& asks);
  void pump(std::size_t server);
  void hear(const Sent& sent, const quorum::Answer& answer);
  template <class Machine>
  void drive(std::shared_ptr<Machine> machine, std::function<void(Machine&)> over);
  void settle();

  void claim();
  void ask_for_round(bool leader_first);
  void take_reply(quorum::QuorumClaim& machine);
  void take_grant(const Grant& grant);
  void after_refusal();
  Time believed_from(Time sent_at) const;
  void hold_on();
  void renew();
  void release(int tries);
  void rest();

  QuorumWorld& world_;
  std::size_t number_;
  unsigned process_ = 0;
  bool finishing_ = false;
  bool granted_ = false;
  Time frozen_until_;

  quorum::Members members_;
  quorum::Rounds rounds_;
  Jitter jitter_;
  std::vector<ServerLine> lines_;
  Claim claim_;
  Claim round_;
  bool claiming_ = false;
  Holds holds_;
  Time believes_until_;
  Time wants_until_;

  // Number of the machine that runs now.
  std::uint64_t drives_ = 0;
  std::pair<std::uint64_t, Time> timer_;
  std::function<quorum::Asks(const quorum::Ask&, const quorum::Answer&)> on_answer_;
  std::function<quorum::Asks()> on_time_;
  std::function<Time()> deadline_;
  std::function<bool()> is_over_;
  std::function<void()> over_;
};

}  // namespace dlock::test
