// SPDX-License-Identifier: MIT
// The one list of stores: their URL schemes, and how each is opened. Opening connects to nothing.
#pragma once

#include "base/result.hpp"
#include "core/lock_store.hpp"
#include "store/doctor/finding.hpp"
#include "store/store_options.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// "redis://host:6379, rediss://host:6379, redis+unix:///path or local:///dir": a URL of each store.
const std::string& store_forms();

// Whether a URL of this store may have TLS settings; false for a URL that names no store.
bool takes_tls_settings(std::string_view url);

// Errc::bad_usage for a URL that names no store; the text says why, and quotes no part of the URL:
// a badly written URL may have its password anywhere.
Result<std::unique_ptr<LockStore>> open_store(const StoreOptions& options);

// Locks in several independent servers of Redis, each with its options (store/quorum). Errors as
// above; Errc::bad_config if the number of servers makes no quorum, a server is named twice, or a
// URL is not a single server. `interrupt`, not the servers' own, ends calls.
Result<std::unique_ptr<LockStore>> open_quorum(const std::vector<StoreOptions>& servers,
                                               Duration delay,
                                               const Interrupt* interrupt);

// Looks for what could break the promise there (`dlock doctor`); changes nothing but a lock of its
// own. The error says why nothing could be looked at, or that the URL names no store, as above.
Result<Examination> examine_store(const StoreOptions& options, const ExamineTerms& terms);

// Examines the servers of a quorum at the same time, and then the quorum as a whole. `where`: the
// quorum's.
Result<Examination> examine_quorum(const std::vector<StoreOptions>& servers,
                                   const std::string& where,
                                   Duration delay,
                                   const ExamineTerms& terms);

// The statements that make the tables of the URL's store there, without a ';' and without
// connecting; none for a store that has no tables. Errors as of open_store().
Result<std::vector<std::string>> store_tables(const StoreOptions& options);

}  // namespace dlock
