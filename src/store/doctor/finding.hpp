// SPDX-License-Identifier: MIT
// What `dlock doctor` finds out about a store: one Finding for each check of each server. If a
// check could not be made, its level is not_seen, and `seen` has the reason: the finding says
// neither that all is well nor that something is wrong.
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
  error,    // the setting breaks the promise of a lock
  warning,  // the promise depends on luck
  info,     // all is well, and this is worth knowing
  good,
  not_seen,  // Finding::seen says why
};

struct Finding {
  std::string id;  // such as "evict"; never changes, because programs use it
  Level level = Level::good;
  std::string server = {};  // a URL without a password, or "this machine"
  std::string seen = {};    // the fact: "maxmemory-policy is volatile-lru"
  std::string text = {};    // the consequence; may be empty
  std::string remedy = {};  // for errors and warnings
};

// Each makes a finding of one level; the caller adds the id and the server.
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

// Collects the findings about one server, in the order in which they are added.
class Findings {
 public:
  explicit Findings(std::string server) : server_(std::move(server)) {}
  void add(const char* id, Finding finding);
  std::vector<Finding> take() { return std::move(all_); }

 private:
  std::string server_;
  std::vector<Finding> all_;
};

// Returns the finding for a failed connect. `text`: why there is no connection.
Finding judge_connect(const std::string& text);
// Judges the times of answers: a renewal may take a tenth of `ttl`. `more` is added to the text.
Finding judge_answers(Duration p50, Duration p99, Duration ttl, const std::string& more = {});
// Returns a text like "0.24ms": finer than format_duration(), for times below a second.
std::string fine_duration(Duration d);

struct ExaminedServer {
  std::string url;
  // Such as "redis", "valkey"; this and the next fields are empty if not seen.
  std::string product = {};
  std::string version = {};
  std::string role = {};             // such as "master", "slave", "sentinel"
  std::string process = {};          // id of the process: equal for two URLs of one server
  std::optional<Duration> p50 = {};  // half of the answers took at most this long
  std::optional<Duration> p99 = {};
};

struct Examination {
  std::string url;  // LockStore::where()
  Identity identity = {};
  std::vector<ExaminedServer> servers = {};
  // In the order of repair: an earlier finding may hide or cause a later one.
  std::vector<Finding> findings = {};
};

struct ExamineTerms {
  LeaseTerms lease;              // of the runs for which the store is judged
  std::optional<LockName> name;  // the lock for which rights are checked
  Duration connect_timeout;
  Time until;                      // the end of the whole examination
  InterruptSlot* calls = nullptr;  // the StoreOptions::interrupt, if it is a slot
};

}  // namespace dlock
