// SPDX-License-Identifier: MIT
// QuorumStore: locks in several independent servers. A client holds a lock if a majority of them
// granted it to that client (core/quorum.hpp). All servers are asked at the same time, each by its
// own fiber.
//
// It keeps the promises of LockStore if a majority of the servers keep what they have acknowledged
// or, after a restart, have no vote until the quorum delay is over; and if clock rates differ by
// less than one per cent. The clocks' values never matter for exclusion.
//
// Not promised: first come, first served when the leader changes. Not supported: slots, which a
// majority cannot count.
#pragma once

#include "core/backoff.hpp"
#include "core/quorum.hpp"
#include "core/quorum_rounds.hpp"
#include "store/quorum/quorum_servers.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace dlock {

class QuorumStore final : public LockStore {
 public:
  struct Terms {
    // How long a server has no vote after its start.
    Duration delay{};
    std::uint64_t seed = 0;
    const Interrupt* interrupt = nullptr;  // null: no call is interrupted
  };
  // Opens a store over quorum::k_least to k_most servers. Errc::bad_config: a server is named
  // twice.
  static Result<std::unique_ptr<LockStore>> open(const std::vector<MemberFiber::Opener>& servers,
                                                 const Terms& terms);

  StoreTraits traits() const override;
  std::string where() const override { return where_; }
  Result<std::string> key_of(const LockName& name) const override;
  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override;
  Result<RenewReply> renew(const Holds& holds, Time limit) override;
  Result<RenewReply> check(const Holds& holds, Time limit) override;
  Result<ReleaseVerdict> release(const Holds& holds,
                                 const ReleaseOptions& options,
                                 Time limit) override;
  Result<void> leave(const Claim& claim, Queueing queueing, Time limit) override;
  Result<Watching> watch(const Claim& claim, bool front, Time limit) override;
  Result<Watching> watch_hold(const Holds& holds, Time limit) override;
  Result<HandOff> await_hand_off(Time until) override;
  Result<Holding> inspect(const LockName& name, Time limit) override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;
  Result<RevokeReply> revoke(const LockName& name, const RevokeOrder& order, Time limit) override;
  Result<std::optional<LastSuccess>> forget(const LockName& name, Time limit) override;
  Result<Holding> freeze(const LockName& name, const FreezeOrder& order, Time limit) override;
  Result<std::optional<Freeze>> unfreeze(const LockName& name, Time limit) override;

 private:
  QuorumStore(std::unique_ptr<QuorumServers> servers, const Terms& terms);

  // Runs a machine of core/quorum_*.hpp until it has an outcome.
  template <class Machine>
  auto drive(Machine& machine) -> std::decay_t<decltype(*machine.outcome())>;
  void send(const quorum::Asks& asks);
  template <class T>
  std::vector<Result<T>> ask_each(const QuorumServers::Call<T>& call,
                                  std::size_t needed,
                                  Time limit);
  // Returns an error unless `needed` servers have answered.
  template <class T>
  Result<void> enough(const std::vector<Result<T>>& answers, std::size_t needed) const;
  // Returns the servers' answers as votes; `seen` returns the state of the lock in an answer.
  template <class T>
  std::vector<Vote> votes_of(const std::vector<Result<T>>& answers,
                             const Holding& (*seen)(const T&)) const;
  Result<RenewReply> ask_about(quorum::Ask::What what, const Holds& holds, Time limit);
  void leave_other_lines(const Claim& claim, Queueing queueing, Time limit);
  Result<AcquireReply> try_round(const Claim& claim, Queueing queueing, Time limit);

  std::string where_;
  Duration delay_;
  Jitter jitter_;
  quorum::Members members_;
  quorum::Rounds rounds_;
  std::vector<bool> stands_;  // for each server: the claim may have a place in its line
  std::size_t watched_ = 0;   // index of the watched server
  bool front_ = false;        // the watch is that of one of the first two waiters
  bool called_ = false;       // the watched server has woken the waiter since the last acquire
  std::uint64_t drives_ = 0;  // counts the calls of drive()
  std::function<quorum::Asks(const quorum::Ask&, const quorum::Answer&)> machine_;
  // Declared last, so destroyed first: its letters use the members above.
  std::unique_ptr<QuorumServers> servers_;
};

}  // namespace dlock
