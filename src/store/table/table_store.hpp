// SPDX-License-Identifier: MIT
// TableStore: a LockStore over a table that has a StoredLock for each name. A store of this kind
// says how it changes rows in one step (transact), reads them, and learns of changes (watch_rows,
// await_change); lease_table.hpp and waiting_line.hpp have the rules of locks.
//
// A store may decline the line (StoreTraits::line); then no row ever has one, and readers that come
// all the time may keep a writer out.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/lease_table.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlock {

class TableStore : public LockStore {
 public:
  StoreTraits traits() const override { return {}; }
  Result<std::string> key_of(const LockName& name) const override { return name.text(); }

  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override;
  Result<RenewReply> renew(const Holds& holds, Time limit) override;
  Result<void> raise(const Holds& holds, Time limit) override;
  Result<RenewReply> check(const Holds& holds, Time limit) override;
  Result<ReleaseVerdict> release(const Holds& holds,
                                 const ReleaseOptions& options,
                                 Time limit) override;
  Result<void> leave(const Claim& claim, Queueing queueing, Time limit) override;
  Result<Watching> watch(const Claim& claim, bool front, Time limit) final;
  Result<Watching> watch_hold(const Holds& holds, Time limit) final;
  Result<HandOff> await_hand_off(Time until) final;
  Result<Holding> inspect(const LockName& name, Time limit) final;
  Result<RevokeReply> revoke(const LockName& name, const RevokeOrder& order, Time limit) override;
  Result<std::optional<LastSuccess>> forget(const LockName& name, Time limit) final;

 protected:
  using States = lease_table::States;
  using Moment = lease_table::Moment;
  // The effect of a change. A changed line is written in any case.
  struct Step {
    bool writes = false;  // the locks have to be written, without their lines
    bool tells = false;   // and then the watchers of the names have to look
    // Ids of the watchers that have to look, as in watch_rows(); a store may wake others as well.
    std::vector<std::string> wakes = {};
    // Owners whose leases were granted, joined or renewed, even if they end no later than before.
    std::vector<OwnerId> renews = {};
  };
  // Changes the rows of some names, in their order.
  using Change = std::function<Step(const States&, const Moment&)>;
  // Looks at copies, which it may change.
  using Look = std::function<void(const States&, const Moment&)>;

  // What a step acquires (a claim), or renews, raises, checks or releases (holds). Other steps set
  // neither.
  struct Occasion {
    const Claim* claim = nullptr;
    Queueing queueing = Queueing::no;  // of the claim
    const Holds* holds = nullptr;
    // The step only releases the holds; it writes neither a time to keep the lock nor a success.
    // While the leases last, the step would therefore write the same at any time.
    bool frees = false;
  };

  // One atomic step: reads the rows of `names`, which nothing else changes until it ends, calls
  // `change` (again, if the step has to be repeated), and writes all of them or none. A missing row
  // is a StoredLock{}. The moment is read after the rows are secured; its `sent_at` before the
  // first byte of the request is sent. Errors as of LockStore.
  virtual Result<void> transact(const std::vector<LockName>& names,
                                const Occasion& occasion,
                                Time limit,
                                const Change& change) = 0;

  // Reads each row as it was at one moment; several rows may differ in theirs. Needs no right to
  // write.
  virtual Result<void> read(const std::vector<LockName>& names, Time limit, const Look& look) = 0;

  // From its return on, await_change misses no step that tells of these rows, or wakes one of these
  // ids: of the watched claim or holds. Replaces what was watched before.
  virtual Result<void> watch_rows(const std::vector<LockName>& names,
                                  const std::vector<std::string>& ids,
                                  Time limit) = 0;

  // Sleeps until such a step may have ended (true) or `until` (false). Errc::cancelled:
  // interrupted, and watching goes on.
  virtual Result<bool> await_change(Time until) = 0;

  // The number of the newest write, if the store numbers writes (Moment::numbers_writes).
  virtual FencingToken number_of_write() const { return 0; }

  // Why the table cannot keep what this claim will leave in it; asked within a step.
  virtual std::optional<Error> refuses(const Claim& /*claim*/) const { return std::nullopt; }

  // How often a watcher has to look because nothing wakes it; nullopt: it is woken.
  enum class Watcher { holder, waiter, bystander };  // a bystander is in no line
  virtual std::optional<Duration> looks_every(Watcher /*who*/, std::uint64_t /*place*/) const {
    return std::nullopt;
  }

  // The moment of a table whose clock is this machine's CLOCK_BOOTTIME.
  static Moment local_moment(Time sent_at);

 private:
  using Watched = lease_table::Watched;
  std::optional<Error> too_new(const std::vector<LockName>& names, const States& states) const;
  Result<void> change(const std::vector<LockName>& names,
                      const Occasion& occasion,
                      Time limit,
                      const Change& what);
  Result<void> change(const Holds& holds, Time limit, const Change& what);
  Result<Watching> watch_for(Watched what, const std::vector<std::string>& ids, Time limit);
  HandOff look(Time limit);
  void look_soon();

  Watched watched_;
  std::string seen_;             // what the watched claim knows: signature_of()
  std::uint64_t place_ = 0;      // the watched claim's place in its line; 0: not in line
  std::optional<Time> look_at_;  // a lease or a turn ends then, without waking a watcher
};

}  // namespace dlock
