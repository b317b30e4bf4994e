// SPDX-License-Identifier: MIT
// TableStore: a LockStore on a table that has a StoredLock for each name. A derived store says how
// to change rows atomically (transact), how to read them, and how to learn of changes (watch_rows,
// await_change). lease_table.hpp and waiting_line.hpp have the rules of locks.
//
// A store may have no lines (StoreTraits::line); then a steady flow of readers can keep a writer
// waiting for ever.
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
  // The effect of a change. A changed line is always written.
  struct Step {
    bool writes = false;  // the locks must be written, without their lines
    bool tells = false;   // if they are written, the watchers of the names must look
    // Ids of the watchers that must look, as in watch_rows(). A store may wake more watchers.
    std::vector<std::string> wakes = {};
    // Owners whose leases were granted, joined or renewed, even if the leases do not end later than
    // before.
    std::vector<OwnerId> renews = {};
  };
  // Changes the rows of the names, which are in the order of the names.
  using Change = std::function<Step(const States&, const Moment&)>;
  // Looks at copies of rows, which it may change.
  using Look = std::function<void(const States&, const Moment&)>;

  // What a step is for: it acquires `claim`, or it renews, raises, checks or releases `holds`. For
  // other steps both are null.
  struct Occasion {
    const Claim* claim = nullptr;
    Queueing queueing = Queueing::no;  // how the claim queues
    const Holds* holds = nullptr;
    // The step only releases the holds, and records neither a time to keep the lock nor a success.
    // So it would write the same at any time while the leases last.
    bool frees = false;
  };

  // Carries out one atomic step: reads the rows of `names`, calls `change` (again, if the step must
  // be repeated) and writes all rows or none; nothing else changes the rows in between. A missing
  // row is a StoredLock{}. The moment is read when the rows are secured, but its `sent_at` before
  // the first byte of the request is sent. Errors as for LockStore.
  virtual Result<void> transact(const std::vector<LockName>& names,
                                const Occasion& occasion,
                                Time limit,
                                const Change& change) = 0;

  // Reads the rows and passes them to `look`. Each row is as it was at one moment, but different
  // rows may be from different moments. Needs no right to write.
  virtual Result<void> read(const std::vector<LockName>& names, Time limit, const Look& look) = 0;

  // Starts to watch: once this has returned, await_change misses no step that tells the watchers of
  // these rows or wakes one of these ids (of the watched claim or holds). Replaces the previous
  // watch.
  virtual Result<void> watch_rows(const std::vector<LockName>& names,
                                  const std::vector<std::string>& ids,
                                  Time limit) = 0;

  // Sleeps until such a step may have ended (true) or until `until` (false). Errc::cancelled:
  // interrupted; the rows are still watched.
  virtual Result<bool> await_change(Time until) = 0;

  // Returns the number of the newest write, if the store numbers its writes
  // (Moment::numbers_writes).
  virtual FencingToken number_of_write() const { return 0; }

  // Returns why the table cannot record this claim; called within a step.
  virtual std::optional<Error> refuses(const Claim& /*claim*/) const { return std::nullopt; }

  enum class Watcher { holder, waiter, bystander };  // a bystander is in no line
  // Returns how often a watcher must look because nothing wakes it; nullopt: it is woken. `place`:
  // its place in line, from 1; 0: not in line.
  virtual std::optional<Duration> looks_every(Watcher /*who*/, std::uint64_t /*place*/) const {
    return std::nullopt;
  }

  // Returns the moment of a table whose clock is this machine's CLOCK_BOOTTIME.
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
  std::string seen_;         // the signature_of() that the watched claim last saw
  std::uint64_t place_ = 0;  // the watched claim's place in line; 0: not in line
  // When to look again, because a lease or a turn ends then without waking a watcher.
  std::optional<Time> look_at_;
};

}  // namespace dlock
