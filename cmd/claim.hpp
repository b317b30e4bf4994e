// SPDX-License-Identifier: MIT
// From words and settings to a claim: shared by run, acquire and the commands after it.
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

// `interrupt` as in StoreOptions.
Result<std::unique_ptr<LockStore>> open_store(const Settings& settings,
                                              const Interrupt* interrupt = nullptr);
Result<Examination> examine_store(const Settings& settings, ExamineTerms terms);
Result<std::vector<std::string>> store_tables(const Settings& settings);
Result<std::vector<std::string>> keys_of(const LockStore& store,
                                         const std::vector<LockName>& names);
// What run and acquire prepare before they take the lock: all that can fail for other reasons.
struct Prepared {
  std::unique_ptr<InterruptSlot> interrupt;  // for the calls of `store`
  std::unique_ptr<LockStore> store;
  std::string where;              // LockStore::where()
  std::vector<std::string> keys;  // one for each name
};
Result<Prepared> prepare(const std::vector<LockName>& names, const Settings& settings);

// Errc::bad_usage, before the store is asked, if it lacks what the claim or a release with
// `min_hold` needs (StoreTraits).
Result<void> check_store(const LockStore& store, const Claim& claim, Duration min_hold);
// As check_store(), for --replicas.
Result<void> check_replicas(const LockStore& store, const Settings& settings);
// As check_store(), for acquire, renew and release.
Result<void> check_detached(const LockStore& store);
// The refusal of a store without `what`.
Error lacks(const LockStore& store, const std::string& what);

// The holds in DLOCK_HOLDS.
std::vector<AncestorHold> inherited_holds();
// The number of runs in DLOCK_HOLDS: each of these ancestors may stop this run. Holds of `acquire`
// do not count, as they stop no command.
std::size_t nesting();

// The record of this holder: `pid`, with this host and user.
HolderInfo who_we_are(long pid, const std::string& command, const Settings& settings);

// A stranger's claim; if one of `keys` is among the inherited holds, a nested claim.
Claim make_claim(std::vector<LockName> names,
                 const std::vector<std::string>& keys,
                 HolderInfo who,
                 const Settings& settings);

// The claim of a command that looks at a lock and waits for its changes, but takes nothing.
Claim bystander(const LockName& name);

// For the claim of a run: the run must not start if it inherited a hold that an `acquire` took in
// this store, and that hold was lost. The claim of an `acquire` does not need this, because a
// nested `acquire` may take the lock anew.
void rely_on_acquired(Claim& claim, const std::string& store);

AcquireTerms acquire_terms(const Settings& settings);

// `"a"`, `"a" and "b"`, `"a", "b" and "c"`: names in a sentence.
std::string quoted_names(const std::vector<LockName>& names);

}  // namespace dlock
