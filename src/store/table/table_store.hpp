// SPDX-License-Identifier: MIT
// TableStore: a LockStore on a table that has a StoredLock for each name. A derived store adds how
// rows are changed atomically (transact), how they are read (read), and how a process learns of
// changes (watch_rows, await_change). The rules of locks are in lease_table.hpp and
// waiting_line.hpp.
//
// A store may have no lines (StoreTraits::line). Then readers that keep coming can keep a writer
// waiting for ever.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/lease_table.hpp"

#include <cstddef>
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
  Result<Holding> freeze(const LockName& name, const FreezeOrder& order, Time limit) final;
  Result<std::optional<Freeze>> unfreeze(const LockName& name, Time limit) final;

 protected:
  using States = lease_table::States;
  using Moment = lease_table::Moment;
  // What a change has done to the rows. A line that has changed is always written.
  struct Step {
    bool writes = false;  // the locks themselves have changed and must be written
    // Set: of the locks only the one with this index has changed.
    std::optional<std::size_t> only = {};
    bool tells = false;  // all watchers of these names must look, if the locks are written
    // Ids of watchers that must look, as in watch_rows(). A store may also wake other watchers.
    std::vector<std::string> wakes = {};
    // Owners whose leases were granted, joined or renewed, even if the end of the lease stays the
    // same.
    std::vector<OwnerId> renews = {};

    bool writes_lock(std::size_t index) const { return writes && only.value_or(index) == index; }
  };
  // Changes the states, one for each name, in the order of the names.
  using Change = std::function<Step(const States&, const Moment&)>;
  // Looks at copies of the states, and may change the copies.
  using Look = std::function<void(const States&, const Moment&)>;

  // For what transact() is called: to acquire `claim`, or to renew, raise, check or release
  // `holds`. For any other purpose both are null.
  struct Occasion {
    const Claim* claim = nullptr;
    Queueing queueing = Queueing::no;  // how the claim waits in line
    const Holds* holds = nullptr;
    // The change only releases the holds: it records no success and does not keep the lock. So it
    // would write the same at any time before the leases end.
    bool frees = false;
  };

  // Carries out one change as a whole. Reads the rows of `names`, calls `change` with their states,
  // and writes all rows or none; nothing else changes the rows meanwhile. If the write must be
  // repeated, `change` is called again. A row that does not exist is a StoredLock{}. The Moment has
  // the time when the rows are locked against others, but its `sent_at` is before the first byte of
  // the request. Errors are those of LockStore.
  virtual Result<void> transact(const std::vector<LockName>& names,
                                const Occasion& occasion,
                                Time limit,
                                const Change& change) = 0;

  // Reads the rows and passes their states to `look`. Each row is as it was at one moment, but this
  // moment may differ from row to row. Needs no right to write.
  virtual Result<void> read(const std::vector<LockName>& names, Time limit, const Look& look) = 0;

  // Starts to watch these rows, in place of those watched before. After this call, await_change()
  // notices every change that tells the watchers of one of the rows (Step::tells) or wakes one of
  // `ids` (Step::wakes), which are the ids of the watched claim or holds.
  virtual Result<void> watch_rows(const std::vector<LockName>& names,
                                  const std::vector<std::string>& ids,
                                  Time limit) = 0;

  // Returns the id of the waiter or hold whose end the watched claim waits for, as
  // lease_table::predecessor_of() has found it in the newest try or look.
  const std::string& predecessor() const { return predecessor_; }

  // Sleeps. Returns true once somebody may have made a change that matters to the watcher
  // (watch_rows), and false at `until`. After Errc::cancelled (an interrupt) the rows are still
  // watched.
  virtual Result<bool> await_change(Time until) = 0;

  // Sleeps as await_change() does. A store that sleeps in its server may read the watched rows with
  // the same request; it passes `look` their states as they are after the sleep, and need not be
  // asked for them again.
  virtual Result<bool> await_and_look(Time until, const Look& /*look*/) {
    return await_change(until);
  }

  // Returns whether what has ended the newest await_change() says that it is the turn of the
  // watched claim. Then the claim tries at once and does not look first.
  virtual bool has_turn() const { return false; }

  // Returns the number of the newest write, if the store numbers its writes
  // (Moment::numbers_writes).
  virtual FencingToken number_of_write() const { return 0; }

  // Returns the error if the table cannot record this claim. Called within transact().
  virtual std::optional<Error> refuses(const Claim& /*claim*/) const { return std::nullopt; }

  enum class Watcher { holder, waiter, bystander };  // a bystander waits, but is in no line
  // Returns how often a watcher must look because nothing wakes it; nullopt: the store wakes it.
  // `place` is the watcher's place in line, from 1; 0: it is in no line.
  virtual std::optional<Duration> looks_every(Watcher /*who*/, std::uint64_t /*place*/) const {
    return std::nullopt;
  }

  // Returns false within watch_rows() and from then on if the watched claim waits behind others,
  // and so must hear only of its turn (LockStore::watch).
  bool watches_front() const { return front_; }

  // Returns the times of a change for a table whose clock is this machine's CLOCK_BOOTTIME.
  static Moment local_moment(Time sent_at);

 private:
  using Watched = lease_table::Watched;
  std::optional<Error> too_new(const std::vector<LockName>& names, const States& states) const;
  Result<void> change(const std::vector<LockName>& names,
                      const Occasion& occasion,
                      Time limit,
                      const Change& what);
  Result<void> change(const Holds& holds, Time limit, const Change& what);
  using ChangeOne = std::function<Step(lease_table::StoredLock&, const Moment&)>;
  Result<void> change_one(const LockName& name, Time limit, const ChangeOne& what);
  Result<Watching> watch_for(Watched what, const std::vector<std::string>& ids, Time limit);
  HandOff look(Time limit);
  HandOff see(const States& states, const Moment& moment);
  void look_soon();

  Watched watched_;
  std::string seen_;  // what the watched claim saw last, as signature_of() describes it
  std::string predecessor_;
  std::uint64_t place_ = 0;  // place of the watched claim in line; 0: in no line
  bool front_ = true;
  // When to look again because nothing will wake the watcher: a lease or a turn ends then, or the
  // hold of another program may have ended.
  std::optional<Time> look_at_;
};

}  // namespace dlock
