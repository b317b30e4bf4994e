// SPDX-License-Identifier: MIT
// A Finding: what `dlock doctor` has found out by one check of one server. If the check could not
// be made, its level is not_seen, and `seen` has the reason. Such a finding says neither that all
// is well nor that something is wrong.
#pragma once

#include "base/boot_clock.hpp"
#include "core/lease.hpp"
#include "core/names.hpp"
#include "store/doctor/identity.hpp"
#include "sys/interrupt.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlock {

enum class Level {
  error,    // what was seen breaks the promises of a lock
  warning,  // the promise of a lock depends on luck
  info,     // all is well, but this is worth knowing
  good,
  not_seen,  // the check was not made; Finding::seen says why
};

struct Finding {
  std::string id;  // name of the check, such as "evict"; it never changes, because programs use it
  Level level = Level::good;
  std::string server = {};  // URL without a password, or "this machine"
  std::string seen = {};    // what was seen: "maxmemory-policy is volatile-lru"
  std::string text = {};    // what follows from the fact in `seen`; may be empty
  std::string remedy = {};  // what to do, for errors and warnings
};

// Each of these functions makes a finding of one level. The caller adds the id and the server.
inline Finding good(std::string seen = {}) {
  return {.id = {}, .level = Level::good, .seen = std::move(seen)};
}
inline Finding info(std::string seen, std::string text = {}) {
  return {.id = {}, .level = Level::info, .seen = std::move(seen), .text = std::move(text)};
}
inline Finding warning(std::string seen, std::string text, std::string remedy) {
  return {{}, Level::warning, {}, std::move(seen), std::move(text), std::move(remedy)};
}
inline Finding broken(std::string seen, std::string text, std::string remedy) {
  return {{}, Level::error, {}, std::move(seen), std::move(text), std::move(remedy)};
}
inline Finding not_seen(std::string why) {
  return {.id = {}, .level = Level::not_seen, .seen = std::move(why)};
}

// Collects the findings about one server, and keeps their order.
class Findings {
 public:
  explicit Findings(std::string server) : server_(std::move(server)) {}
  void add(const char* id, Finding finding);
  std::vector<Finding> take() { return std::move(all_); }

 private:
  std::string server_;
  std::vector<Finding> all_;
};

// Returns the finding that no connection could be made. `text` says why.
Finding judge_connect(const std::string& text);
// Judges how long the server takes to answer, because a renewal may take only a tenth of `ttl`.
// `more` is added to the text.
Finding judge_answers(Duration p50, Duration p99, Duration ttl, const std::string& more = {});
// Returns a text such as "0.24ms". For times below a second this text is finer than the one of
// format_duration().
std::string fine_duration(Duration d);

struct ExaminedServer {
  std::string url;
  // Name of the server's software, such as "redis" or "valkey". This and the following fields are
  // empty if they were not seen.
  std::string product = {};
  std::string version = {};
  std::string role = {};  // role of the server, such as "master", "slave", "sentinel"
  // Id of the server's process; two URLs with the same id lead to one server.
  std::string process = {};
  // The median time of an answer: half of the answers took no longer.
  std::optional<Duration> p50 = {};
  std::optional<Duration> p99 = {};
};

struct Examination {
  std::string url;  // LockStore::where()
  Identity identity = {};
  std::vector<ExaminedServer> servers = {};
  // In the order in which to repair them, because an earlier finding may hide or cause a later one.
  std::vector<Finding> findings = {};
};

struct ExamineTerms {
  LeaseTerms lease;              // the lease of the runs that will use the store
  std::optional<LockName> name;  // the lock for which the user's rights are checked
  Duration connect_timeout;
  Time until;  // limit of the whole examination
  // The StoreOptions::interrupt, if it is an InterruptSlot; otherwise null.
  InterruptSlot* calls = nullptr;
};

}  // namespace dlock
