// SPDX-License-Identifier: MIT
// Opens the store that the settings name, and makes claims from the command line and the settings.
#pragma once

#include "cmd/settings.hpp"
#include "core/acquire_loop.hpp"
#include "store/open_store.hpp"
#include "sys/interrupt.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dlock {

Result<std::vector<LockName>> parse_names(const std::vector<std::string>& words);

// Opens the store of the settings, which may be a quorum. `interrupt` can end a call to the store
// early (sys/interrupt.hpp); null: nothing can.
Result<std::unique_ptr<LockStore>> open_store(const Settings& settings,
                                              const Interrupt* interrupt = nullptr);
Result<Examination> examine_store(const Settings& settings, ExamineTerms terms);
Result<std::vector<std::string>> store_tables(const Settings& settings);
Result<std::vector<std::string>> keys_of(const LockStore& store,
                                         const std::vector<LockName>& names);
// What run and acquire need for their request to the store. It may fail, so it is made first.
struct Prepared {
  std::unique_ptr<InterruptSlot> interrupt;  // can end a call to `store` early
  std::unique_ptr<LockStore> store;
  std::string where;              // the store's address, for messages and DLOCK_HOLDS
  std::vector<std::string> keys;  // one for each name
};
Result<Prepared> prepare(const std::vector<LockName>& names, const Settings& settings);

// Returns Errc::bad_usage if this kind of store cannot do what the claim needs, or cannot keep a
// lock for `min_hold` after its release. Sends no request.
Result<void> check_store(const LockStore& store, const Claim& claim, Duration min_hold);
// Returns Errc::bad_usage if --replicas is set and this kind of store has no replicas to wait for.
Result<void> check_replicas(const LockStore& store, const Settings& settings);
// Returns Errc::bad_usage if this kind of store cannot hold a lock while no process of dlock runs,
// as between acquire and release.
Result<void> check_detached(const LockStore& store);
// Returns the error for a store that lacks `what`.
Error lacks(const LockStore& store, const std::string& what);

// Returns the holds in DLOCK_HOLDS.
std::vector<AncestorHold> inherited_holds();
// Returns how many runs are above this one, by DLOCK_HOLDS; each of them may stop this run. A hold
// of `acquire` does not count, because `acquire` leaves no process that could stop a command.
std::size_t nesting();

// Returns what is recorded about a holder or waiter: this host and user, `pid`, `command`, and the
// reason from the settings.
HolderInfo who_we_are(long pid, const std::string& command, const Settings& settings);

// Returns a claim of `names`. If an inherited hold has one of `keys`, the claim is nested in that
// hold.
Claim make_claim(std::vector<LockName> names,
                 const std::vector<std::string>& keys,
                 HolderInfo who,
                 const Settings& settings);

// Makes the claim want one of its names (--or). Claims begin at random names, so that all names are
// used.
Result<void> want_one(Claim& claim, const Settings& settings);

// Returns for how long the store is to remember how a run ended: the setting, or by default a day
// where that costs no further write.
Duration keep_last(const LockStore& store, const Settings& settings);

// Returns the claim of a command that inspects a lock and waits for its changes, but acquires
// nothing.
Claim bystander(const LockName& name);

// Makes the claim of a run depend on the holds of `acquire` that it is nested in, if they are in
// `store`: adds them to Claim::relies_on. If one of these holds was lost, the store refuses the
// claim, and the run does not start. A nested `acquire` does not call this, because it may acquire
// a lost lock anew.
void rely_on_acquired(Claim& claim, const std::string& store);

AcquireTerms acquire_terms(const Settings& settings);

// Returns the names for a sentence: `"a"`, `"a" and "b"`, `"a", "b" and "c"`.
std::string quoted_names(const std::vector<LockName>& names);

}  // namespace dlock
