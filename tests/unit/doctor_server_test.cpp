// SPDX-License-Identifier: MIT
// The rules of doctor about one server, with invented facts.
#include "store/redis/doctor/rules.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/has.hpp"

namespace dlock::doctor {
namespace {

using namespace std::chrono_literals;
using test::has;

Terms terms_of(Duration ttl = 30s, int replicas = 0, bool of_a_set = false) {
  return {*LeaseTerms::check(ttl, std::nullopt), replicas, of_a_set};
}

struct Case {
  Fields info;
  Fields config;
  Level level = Level::good;
  const char* says = "";
};

void check_cases(Judge judge, const std::vector<Case>& cases, const Terms& terms = terms_of()) {
  for (const Case& one : cases) {
    ServerFacts server;
    server.info = one.info;
    server.config = one.config;
    const Finding finding = judge(server, terms);
    CAPTURE(finding.seen);
    CAPTURE(one.says);
    CHECK(finding.level == one.level);
    CHECK(has(finding.seen + ": " + finding.text, one.says));
    const bool needs_remedy = one.level == Level::error || one.level == Level::warning;
    CHECK(finding.remedy.empty() != needs_remedy);
  }
}

TEST_CASE("doctor: what was not asked is not seen, neither good nor bad") {
  for (const Judge judge :
       {judge_protect, judge_version, judge_proxy,      judge_scripts,  judge_undeclared,
        judge_rights,  judge_evict,   judge_evicted,    judge_persist,  judge_bgsave,
        judge_fork,    judge_role,    judge_topology,   judge_replicas, judge_minrepl,
        judge_clock,   judge_latency, judge_slow,       judge_refusals, judge_clients,
        judge_idle,    judge_buffers, judge_open_slots, judge_shard}) {
    const Finding finding = judge(ServerFacts(), terms_of());
    CHECK(finding.level == Level::not_seen);
    CHECK(finding.seen == "it was not asked");
  }
}

TEST_CASE("doctor: a fact that is not seen says which command was refused, or had no answer") {
  CHECK(reason_of("CONFIG GET", {Errc::denied, "NOPERM"}) == "CONFIG GET is refused");
  CHECK(reason_of("ROLE", {Errc::refused, "ERR"}) == "ROLE is unknown or refused");
  CHECK(reason_of("INFO", {Errc::timed_out, ""}) == "INFO had no answer in time");
  ServerFacts server;
  server.config = Seen<Fields>::unseen("CONFIG GET is refused");
  CHECK(judge_idle(server, terms_of()).seen == "CONFIG GET is refused");
  server.info = Fields{{"redis_version", "7.0.15"}};
  CHECK(judge_evict(server, terms_of()).seen == "the server tells no maxmemory");
}

TEST_CASE("doctor evict: every policy but noeviction throws locks away, if there is a maxmemory") {
  check_cases(judge_evict,
              {{{{"maxmemory", "0"}, {"maxmemory_policy", "volatile-lru"}}, {}, Level::good},
               {{{"maxmemory", "100"}, {"maxmemory_policy", "volatile-lru"}},
                {},
                Level::error,
                "maxmemory-policy is volatile-lru"},
               {{{"maxmemory", "100"}, {"maxmemory_policy", "allkeys-random"}}, {}, Level::error},
               {{{"maxmemory", "100"}, {"maxmemory_policy", "noeviction"}, {"used_memory", "90"}},
                {},
                Level::good},
               {{{"maxmemory", "100"}, {"maxmemory_policy", "noeviction"}, {"used_memory", "91"}},
                {},
                Level::warning,
                "91 %"},
               {{{"maxmemory", "100"}}, {}, Level::not_seen, "tells no maxmemory_policy"}});
}

TEST_CASE("doctor: numbers of a server may be as large as a number can be") {
  const char* const most = "9223372036854775807";
  check_cases(judge_evict,
              {{{{"maxmemory", most}, {"maxmemory_policy", "noeviction"}, {"used_memory", most}},
                {},
                Level::warning,
                "100 %"}});
  check_cases(judge_fork,
              {{{{"latest_fork_usec", most}}, {}, Level::warning, "its last fork took"}});
  check_cases(judge_clients,
              {{{{"connected_clients", most}, {"maxclients", "10"}}, {}, Level::warning}});
}

TEST_CASE("doctor evicted: keys that were thrown away may have been locks") {
  check_cases(
      judge_evicted,
      {{{{"evicted_keys", "0"}}, {}, Level::good},
       {{{"evicted_keys", "7"}, {"maxmemory_policy", "allkeys-lru"}}, {}, Level::error, "7 keys"},
       {{{"evicted_keys", "7"}, {"maxmemory_policy", "noeviction"}}, {}, Level::info},
       {{{"evicted_keys", "7"}}, {}, Level::not_seen}});
}

TEST_CASE("doctor persist: without AOF a restart forgets all, with everysec up to a second") {
  check_cases(judge_persist,
              {{{{"aof_enabled", "0"}}, {}, Level::warning, "appendonly is no"},
               {{{"aof_enabled", "1"}}, {{"appendfsync", "everysec"}}, Level::warning, "up to 1 s"},
               {{{"aof_enabled", "1"}}, {{"appendfsync", "no"}}, Level::warning, "30 s"},
               {{{"aof_enabled", "1"}}, {{"appendfsync", "always"}}, Level::info},
               {{{"aof_enabled", "1"}}, {}, Level::not_seen}});
  check_cases(judge_persist,
              {{{{"aof_enabled", "0"}}, {}, Level::warning, "its replicas follow it"}},
              terms_of(30s, 1, true));
}

TEST_CASE("doctor bgsave: a failed snapshot or AOF means refused writes") {
  const Fields good{{"aof_last_write_status", "ok"}, {"rdb_last_bgsave_status", "ok"}};
  const Fields rdb{{"aof_last_write_status", "ok"}, {"rdb_last_bgsave_status", "err"}};
  const Fields aof{{"aof_last_write_status", "err"}, {"rdb_last_bgsave_status", "ok"}};
  check_cases(judge_bgsave,
              {{good, {}, Level::good},
               {rdb, {}, Level::error, "MISCONF"},
               {rdb, {{"stop-writes-on-bgsave-error", "yes"}, {"save", "3600 1"}}, Level::error},
               {rdb, {{"stop-writes-on-bgsave-error", "yes"}, {"save", ""}}, Level::warning},
               {rdb, {{"stop-writes-on-bgsave-error", "no"}}, Level::warning},
               {aof, {}, Level::error, "AOF"},
               {{{"aof_last_write_status", "ok"}}, {}, Level::not_seen}});
}

TEST_CASE("doctor fork: a fork of a twentieth of the lease, and a slow disk, stop renewals") {
  check_cases(judge_fork,
              {{{{"latest_fork_usec", "1500000"}}, {}, Level::good},
               {{{"latest_fork_usec", "1500001"}}, {}, Level::warning, "last fork took 1.5s"},
               {{{"latest_fork_usec", "0"}, {"aof_delayed_fsync", "3"}}, {}, Level::warning, "3"}});
  ServerFacts server;
  server.info = Fields{{"latest_fork_usec", "0"}};
  server.events = std::vector<Slow>{{"expire-cycle", 2s}};
  CHECK(judge_fork(server, terms_of()).level == Level::warning);
  CHECK(has(judge_fork(server, terms_of()).seen, "expire-cycle"));
  CHECK(judge_fork(server, terms_of(60s)).level == Level::good);
}

TEST_CASE("doctor version: Redis before 6.2 is refused, Valkey says its own version") {
  check_cases(judge_version,
              {{{{"redis_version", "6.0.16"}}, {}, Level::error, "Redis 6.0.16"},
               {{{"redis_version", "6.2.0"}}, {}, Level::info, "Redis 6.2.0"},
               {{{"redis_version", "8.0.2"}}, {}, Level::info},
               {{{"redis_version", "7.2.4"}, {"valkey_version", "8.0.1"}},
                {},
                Level::info,
                "Valkey 8.0.1"}});
}

TEST_CASE(
    "doctor idle: a timeout closes idle connections; without keepalive firewalls forget them") {
  check_cases(judge_idle,
              {{{}, {{"timeout", "0"}, {"tcp-keepalive", "300"}}, Level::good},
               {{}, {{"timeout", "60"}, {"tcp-keepalive", "300"}}, Level::warning, "timeout is 60"},
               {{}, {{"timeout", "0"}, {"tcp-keepalive", "0"}}, Level::warning, "tcp-keepalive"}});
}

TEST_CASE("doctor buffers: small limits and maxmemory-clients disconnect clients") {
  const std::string wide = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60";
  const std::string tight = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 65536 60";
  check_cases(judge_buffers,
              {{{}, {{"client-output-buffer-limit", wide}}, Level::good},
               {{}, {{"client-output-buffer-limit", "pubsub 0 0 0"}}, Level::good},
               {{}, {{"client-output-buffer-limit", tight}}, Level::warning, "pubsub"},
               {{},
                {{"client-output-buffer-limit", wide}, {"proto-max-bulk-len", "65536"}},
                Level::warning,
                "proto-max-bulk-len"},
               {{},
                {{"client-output-buffer-limit", wide}, {"maxmemory-clients", "5%"}},
                Level::warning,
                "maxmemory-clients is 5%"}});
}

TEST_CASE("doctor clients: from four fifths of maxclients on") {
  check_cases(
      judge_clients,
      {{{{"connected_clients", "80"}, {"maxclients", "100"}}, {}, Level::good},
       {{{"connected_clients", "81"}, {"maxclients", "100"}}, {}, Level::warning, "81 of 100"},
       {{{"connected_clients", "81"}}, {{"maxclients", "100"}}, Level::warning},
       {{{"connected_clients", "81"}}, {}, Level::not_seen}});
}

TEST_CASE("doctor slow: long commands, and writes that were refused") {
  ServerFacts server;
  server.slow_log = std::vector<Slow>{{"GET", 20ms}, {"KEYS", 1501ms}};
  CHECK(judge_slow(server, terms_of()).level == Level::warning);
  CHECK(has(judge_slow(server, terms_of()).seen, "\"KEYS\" took 1.5s"));
  CHECK(judge_slow(server, terms_of(60s)).level == Level::good);
  check_cases(judge_refusals,
              {{{{"errorstat_ERR", "count=3"}}, {}, Level::good},
               {{{"errorstat_OOM", "count=3"}}, {}, Level::warning, "OOM (count=3)"},
               {{{"errorstat_NOREPLICAS", "count=1"}}, {}, Level::warning}});
}

TEST_CASE("doctor latency: answers slower than a tenth of the lease break renewals") {
  const auto level_at = [](Duration slowest) {
    ServerFacts server;
    server.latency = Latency{std::vector<Duration>(50, 1ms), {slowest}, {2ms}};
    return judge_latency(server, terms_of()).level;
  };
  CHECK(level_at(600ms) == Level::info);
  CHECK(level_at(601ms) == Level::warning);
  CHECK(level_at(3001ms) == Level::error);
  ServerFacts server;
  server.latency = Latency();
  CHECK(judge_latency(server, terms_of()).level == Level::not_seen);
}

TEST_CASE("doctor clock: more than one per cent is an error, unless the answers were too slow") {
  const auto level_at = [](double rate, double uncertainty) {
    ServerFacts server;
    server.clock = Clock{rate, uncertainty, {}};
    return judge_clock(server, terms_of()).level;
  };
  CHECK(level_at(1.0, 0.001) == Level::good);
  CHECK(level_at(1.009, 0.0005) == Level::good);
  CHECK(level_at(1.02, 0.001) == Level::error);
  CHECK(level_at(0.98, 0.001) == Level::error);
  CHECK(level_at(1.02, 0.02) == Level::not_seen);
  CHECK(level_at(1.0, 0.02) == Level::not_seen);
}

}  // namespace
}  // namespace dlock::doctor
