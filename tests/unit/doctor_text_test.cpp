// SPDX-License-Identifier: MIT
// What doctor prints, and the order of its findings.
#include "cmd/doctor_text.hpp"

#include "cmd/json_output.hpp"
#include "store/redis/doctor/rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/has.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using test::has;

Finding of(const char* id, Finding finding) {
  finding.id = id;
  finding.server = "redis://db1:6379/0";
  return finding;
}

Examination sample() {
  return {.url = "redis://db1:6379/0",
          .identity = {.parts = {{"database", "0"}}, .unseen = ""},
          .servers = {{.url = "redis://db1:6379/0", .product = "valkey", .version = "8.0.1"}},
          .findings = {of("version", info("Valkey 8.0.1")),
                       of("idle", not_seen("CONFIG GET is refused")),
                       of("persist", warning("appendonly is no", "locks are forgotten", "AOF")),
                       of("clients", good("few")),
                       of("buffers", not_seen("CONFIG GET is refused")),
                       of("evict", broken("policy is lru", "locks go", "noeviction"))}};
}

TEST_CASE("doctor: the worst comes first, the remedy below it, and a line that counts") {
  CHECK(examination_text(sample(), false) ==
        "E evict      redis://db1:6379/0  policy is lru: locks go\n"
        "    noeviction\n"
        "W persist    redis://db1:6379/0  appendonly is no: locks are forgotten\n"
        "    AOF\n"
        "i version    redis://db1:6379/0  Valkey 8.0.1\n"
        "? idle, buffers redis://db1:6379/0  not seen: CONFIG GET is refused\n"
        "identity: bbad2ed32ca9: must be the same on every host that shares these locks\n"
        "1 error, 1 warning, 2 good, 2 not seen (CONFIG GET is refused)\n");
  Examination silent = sample();
  silent.identity = {};
  CHECK(has(examination_text(silent, false), "identity: not seen: the store did not answer\n"));
  CHECK(has(examination_text(sample(), true), "+ clients    redis://db1:6379/0  few\n"));
}

TEST_CASE("doctor: what was not seen counts as neither good nor bad") {
  Examination unseen = sample();
  std::erase_if(unseen.findings, [](const Finding& one) { return one.level != Level::not_seen; });
  const Tally tally = tally_of(unseen);
  CHECK(tally.errors == 0);
  CHECK(tally.warnings == 0);
  CHECK(tally.good == 0);
  CHECK(tally.not_seen == 2);
}

TEST_CASE("doctor: JSON has every finding with its level, and apart from them what was not seen") {
  const std::string json = examination_json(sample(), false);
  CHECK(has(json, R"("ok": false)"));
  CHECK(has(json, R"("level": "error")"));
  CHECK(has(json, R"("reason": "CONFIG GET is refused")"));
  CHECK_FALSE(has(json, R"("level": "not_seen")"));
}

TEST_CASE("doctor: JSON has the facts of a server, and null for what is not known of it") {
  Examination seen = sample();
  CHECK(has(examination_json(seen, true), R"("role": null,
      "latency_ms": null)"));
  seen.servers.front().role = "master";
  seen.servers.front().p50 = 250us;
  seen.servers.front().p99 = 12ms;
  CHECK(has(examination_json(seen, true), R"("url": "redis://db1:6379/0",
      "product": "valkey",
      "version": "8.0.1",
      "role": "master",
      "latency_ms": {
        "p50": 0.25,
        "p99": 12.0
      })"));
}

TEST_CASE("doctor: findings come in the order in which they can be mended") {
  doctor::SetFacts set{.url = "u", .servers = {doctor::ServerFacts()}};
  std::vector<std::string> ids;
  for (const Finding& one : doctor::judge(set, *LeaseTerms::check(30s, std::nullopt)))
    ids.push_back(one.id);
  const auto at = [&](const char* id) { return std::find(ids.begin(), ids.end(), id); };
  for (const auto& [before, after] : {std::pair{"connect", "auth"},
                                      std::pair{"role", "scripts"},
                                      std::pair{"scripts", "rights"},
                                      std::pair{"rights", "trial"},
                                      std::pair{"bgsave", "trial"},
                                      std::pair{"replicas", "trial"},
                                      std::pair{"trial", "evict"},
                                      std::pair{"evict", "persist"},
                                      std::pair{"replicas", "minrepl"}}) {
    CAPTURE(before);
    REQUIRE(at(before) != ids.end());
    REQUIRE(at(after) != ids.end());
    CHECK(at(before) < at(after));
  }
}

TEST_CASE("doctor: the trial's failure is an error; messages that are lost are a warning") {
  Trial trial{.steps = {{"acquire", 1ms}}};
  CHECK(judge_trial(trial).level == Level::info);
  CHECK(judge_turns(trial).level == Level::not_seen);
  CHECK(judge_changes(trial, 10s).level == Level::not_seen);
  CHECK(judge_trial(Trial()).level == Level::not_seen);
  trial.turns = trial.changes = Trial::Messages::lost;
  CHECK(judge_turns(trial).level == Level::warning);
  CHECK(has(judge_changes(trial, 10s).text, "up to 10s later"));
  trial.turns = trial.changes = Trial::Messages::refused;
  CHECK(judge_turns(trial).level == Level::warning);
  CHECK(judge_changes(trial, 10s).level == Level::warning);
  trial.turns = trial.changes = Trial::Messages::heard;
  CHECK(judge_turns(trial).level == Level::good);
  CHECK(judge_changes(trial, 10s).level == Level::good);
  trial.failure = Error{Errc::refused, "renew: MISCONF"};
  CHECK(judge_trial(trial).level == Level::error);
  CHECK(has(judge_trial(trial).seen, "renew: MISCONF"));
  trial.failure = Error{Errc::denied, "acquire: NOPERM"};
  CHECK(judge_trial(trial).level == Level::error);
  trial.of_any_name = true;  // and the user may have rights to other names
  CHECK(judge_trial(trial).level == Level::not_seen);
  CHECK(has(judge_trial(trial).seen, "dlock doctor NAME"));
}

}  // namespace
}  // namespace dlock
