// SPDX-License-Identifier: MIT
// The one list of stores: a URL scheme, and who keeps locks there. Opening connects to nothing.
#pragma once

#include "base/result.hpp"
#include "core/lock_store.hpp"
#include "store/doctor/finding.hpp"
#include "store/store_options.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dlock {

// "redis://host:6379, rediss://host:6379, redis+unix:///path or local:///dir": a URL of each store.
const std::string& store_forms();

// Errc::bad_usage for a URL that is none of ours; the text says why, and quotes no part of the URL:
// a badly written one may have its password anywhere.
Result<std::unique_ptr<LockStore>> open_store(const StoreOptions& options);

// Locks in several independent servers of Redis, each with its options (store/quorum). Errors as
// above; Errc::bad_config for a number of servers that makes no quorum, for one that is named
// twice, and for a URL that is no single server. `interrupt`, not those of `servers`, ends calls.
Result<std::unique_ptr<LockStore>> open_quorum(const std::vector<StoreOptions>& servers,
                                               Duration delay,
                                               const Interrupt* interrupt);

// Looks for what could break the promise there (`dlock doctor`); changes nothing but a lock of its
// own. The error is why nothing could be looked at; of a URL that is none of ours as above.
Result<Examination> examine_store(const StoreOptions& options, const ExamineTerms& terms);

// The same of a quorum: its servers one after the other, within the terms' limit, and what concerns
// them together. `where` is that of the quorum.
Result<Examination> examine_quorum(const std::vector<StoreOptions>& servers,
                                   const std::string& where,
                                   Duration delay,
                                   const ExamineTerms& terms);

// The statements that make the tables of the URL's store there, without a ';' and without
// connecting; none for a store that has no tables. Errors as of open_store().
Result<std::vector<std::string>> store_tables(const StoreOptions& options);

}  // namespace dlock
