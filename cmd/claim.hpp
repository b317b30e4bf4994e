// SPDX-License-Identifier: MIT
// Makes claims from words and settings, for run, acquire and the commands after acquire.
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

// Opens the store, or the quorum, of the settings. `interrupt` as in StoreOptions.
Result<std::unique_ptr<LockStore>> open_store(const Settings& settings,
                                              const Interrupt* interrupt = nullptr);
Result<Examination> examine_store(const Settings& settings, ExamineTerms terms);
Result<std::vector<std::string>> store_tables(const Settings& settings);
Result<std::vector<std::string>> keys_of(const LockStore& store,
                                         const std::vector<LockName>& names);
// What run and acquire prepare before they acquire the lock: all that can fail for other reasons.
struct Prepared {
  std::unique_ptr<InterruptSlot> interrupt;  // the interrupt of the calls of `store`
  std::unique_ptr<LockStore> store;
  std::string where;              // LockStore::where()
  std::vector<std::string> keys;  // one for each name
};
Result<Prepared> prepare(const std::vector<LockName>& names, const Settings& settings);

// Returns Errc::bad_usage if the store lacks what the claim, or a release with `min_hold`, needs
// (StoreTraits). Does not ask the store.
Result<void> check_store(const LockStore& store, const Claim& claim, Duration min_hold);
// As check_store(), but for --replicas.
Result<void> check_replicas(const LockStore& store, const Settings& settings);
// As check_store(), but for acquire, renew and release.
Result<void> check_detached(const LockStore& store);
// Returns the error for a store that lacks `what`.
Error lacks(const LockStore& store, const std::string& what);

// Returns the holds in DLOCK_HOLDS.
std::vector<AncestorHold> inherited_holds();
// Returns the number of runs in DLOCK_HOLDS: each of these ancestors may stop this run. Holds of
// `acquire` do not count, because they stop no command.
std::size_t nesting();

// Returns our record as a holder: `pid`, with this host and user.
HolderInfo who_we_are(long pid, const std::string& command, const Settings& settings);

// Returns a claim; it is nested if the inherited holds include one of `keys`.
Claim make_claim(std::vector<LockName> names,
                 const std::vector<std::string>& keys,
                 HolderInfo who,
                 const Settings& settings);

// Returns the claim of a command that inspects a lock and waits for its changes, but acquires
// nothing.
Claim bystander(const LockName& name);

// For a run: adds each inherited hold that an `acquire` took in this store to Claim::relies_on. If
// one of them was lost, the store refuses the claim, and the run does not start. Not called for a
// nested `acquire`, which may acquire the lock anew.
void rely_on_acquired(Claim& claim, const std::string& store);

AcquireTerms acquire_terms(const Settings& settings);

// Returns the names for a sentence: `"a"`, `"a" and "b"`, `"a", "b" and "c"`.
std::string quoted_names(const std::vector<LockName>& names);

}  // namespace dlock
