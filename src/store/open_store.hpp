// SPDX-License-Identifier: MIT
// Opens the store that a URL names. This is the only list of the kinds of stores and their URL
// schemes. Opening a store does not connect to a server.
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

// Returns a text with one form of URL for each kind of store: "redis://host:6379,
// rediss://host:6379, … or sqlite:///file".
const std::string& store_forms();

// Returns whether a URL of this kind may come with TLS settings. Returns false if the URL names no
// store.
bool takes_tls_settings(std::string_view url);

// Opens the store of the URL. Errc::bad_usage: the URL names no store. The text says why but quotes
// no part of the URL, because in a malformed URL the password may be anywhere. Errc::bad_config:
// the URL does not encrypt, but a setting of TLS is given.
Result<std::unique_ptr<LockStore>> open_store(const StoreOptions& options);

// Opens a quorum of several independent Redis servers, each with its own options (store/quorum).
// Returns the errors of open_store(), and Errc::bad_config if the number of servers makes no
// quorum, if a server is named twice, or if a URL is not that of a single server. `interrupt` ends
// a running call; the interrupts in `servers` are not used.
Result<std::unique_ptr<LockStore>> open_quorum(const std::vector<StoreOptions>& servers,
                                               Duration delay,
                                               const Interrupt* interrupt);

// For `dlock doctor`: examines the store for what could break the promises of its locks. Changes
// nothing except a lock of its own. Returns an error of open_store(), or an error that says why
// nothing could be examined.
Result<Examination> examine_store(const StoreOptions& options, const ExamineTerms& terms);

// Examines all servers of a quorum at the same time, and then the quorum as a whole. `where` is the
// name of the quorum in the findings.
Result<Examination> examine_quorum(const std::vector<StoreOptions>& servers,
                                   const std::string& where,
                                   Duration delay,
                                   const ExamineTerms& terms);

// Returns the SQL statements that create the store's tables, each without ';'. The result is empty
// if the store has no tables. Does not connect. Returns the errors of open_store().
Result<std::vector<std::string>> store_tables(const StoreOptions& options);

}  // namespace dlock
