// SPDX-License-Identifier: MIT
// The only list of stores: their URL schemes, and how to open each. Opening a store does not
// connect.
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

// Returns a URL form of each store: "redis://host:6379, rediss://host:6379, … or sqlite:///file".
const std::string& store_forms();

// Returns whether URLs of this kind of store may have TLS settings; false if the URL names no
// store.
bool takes_tls_settings(std::string_view url);

// Opens the store of the URL. Errc::bad_usage: the URL names no store. The text says why but quotes
// no part of the URL, because in a malformed URL the password may be anywhere.
Result<std::unique_ptr<LockStore>> open_store(const StoreOptions& options);

// Opens a quorum of several independent Redis servers, each with its options (store/quorum). Errors
// as for open_store(); Errc::bad_config: the number of servers makes no quorum, a server is named
// twice, or a URL is not that of a single server. Calls are ended by `interrupt`, not by the
// interrupts in `servers`.
Result<std::unique_ptr<LockStore>> open_quorum(const std::vector<StoreOptions>& servers,
                                               Duration delay,
                                               const Interrupt* interrupt);

// For `dlock doctor`: looks for what could break the promises of the store; changes nothing but a
// lock of its own. The error says why nothing could be examined, or is an error of open_store().
Result<Examination> examine_store(const StoreOptions& options, const ExamineTerms& terms);

// Examines all servers of a quorum at the same time, and then the quorum as a whole. `where`: the
// name of the quorum.
Result<Examination> examine_quorum(const std::vector<StoreOptions>& servers,
                                   const std::string& where,
                                   Duration delay,
                                   const ExamineTerms& terms);

// Returns the statements that make the store's tables, without ';'. Does not connect. Empty if the
// store has no tables. Errors as for open_store().
Result<std::vector<std::string>> store_tables(const StoreOptions& options);

}  // namespace dlock
