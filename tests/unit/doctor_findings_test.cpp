// SPDX-License-Identifier: MIT
// What doctor finds if exactly one thing is wrong: this finding, with its level and remedy, and no
// other finding (row 38 of its acceptance list).
#include "store/redis/doctor/rules.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/has.hpp"

namespace dlock::doctor {
namespace {

using namespace std::chrono_literals;
using test::has;

ServerFacts faultless_server() {
  ServerFacts server;
  server.way = {.url = "redis://db1:6379/0", .is_near = true, .user = "worker"};
  server.info = Fields{{"role", "master"},
                       {"redis_version", "7.0.15"},
                       {"maxmemory", "100"},
                       {"maxmemory_policy", "noeviction"},
                       {"used_memory", "10"},
                       {"evicted_keys", "0"},
                       {"aof_enabled", "1"},
                       {"aof_last_write_status", "ok"},
                       {"rdb_last_bgsave_status", "ok"},
                       {"latest_fork_usec", "300"},
                       {"connected_clients", "3"},
                       {"maxclients", "10000"}};
  server.config = Fields{{"appendfsync", "always"},
                         {"timeout", "0"},
                         {"tcp-keepalive", "300"},
                         {"client-output-buffer-limit", "pubsub 33554432 8388608 60"}};
  server.role = Role{"master", {}, {}};
  server.user = std::string("worker");
  server.open_to_all = false;
  server.scripts = std::string();
  server.undeclared = std::string();
  server.rights = std::vector<Right>{{"hset", "~dlock:*", true}, {"get", "~dlock:*", true}};
  server.sentinels = 0;
  server.one_connection = true;
  server.open_slots = std::vector<std::string>();
  server.clock = Clock();
  server.latency = Latency{std::vector<Duration>(50, 1ms), {1ms}, {2ms}};
  server.slow_log = std::vector<Slow>();
  server.events = std::vector<Slow>();
  return server;
}

SetFacts faultless_set() {
  SetFacts set{.url = "redis://db1:6379/0", .servers = {faultless_server()}};
  set.trial.steps = {{"acquire", 1ms}};
  set.trial.turns = set.trial.changes = Trial::Messages::heard;
  return set;
}

void add_sentinels(SetFacts& set, std::size_t count) {
  const SentinelFacts sentinel{.url = "redis://s1:26379/0",
                               .master = "10.0.0.1:6379",
                               .fields = {{"down-after-milliseconds", "3000"}, {"quorum", "2"}},
                               .others_alive = static_cast<int>(count) - 1,
                               .check = std::string()};
  set.sentinels.assign(count, sentinel);
}

void set_info(SetFacts& set, const char* name, const char* value) {
  Fields info = *set.servers.front().info;
  info[name] = value;
  set.servers.front().info = info;
}

void become_cluster(SetFacts& set) {
  set_info(set, "slave0", "ip=10.0.0.2,port=6379,state=online,offset=1,lag=0");
  set.wanted_replicas = 1;
  set.cluster = ClusterFacts();
  set.cluster->info = Fields{{"cluster_state", "ok"}, {"cluster_slots_ok", "16384"}};
  set.cluster->timeout = Fields{{"cluster-node-timeout", "2000"}};
  set.cluster->masters = 1;
}

struct Fault {
  const char* what;
  const char* id;
  Level level;
  const char* remedy;
  void (*inject)(SetFacts& set);
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all{
      {"volatile-lru",
       "evict",
       Level::error,
       "CONFIG SET maxmemory-policy noeviction",
       [](SetFacts& set) { set_info(set, "maxmemory_policy", "volatile-lru"); }},
      {"no AOF",
       "persist",
       Level::warning,
       "CONFIG SET appendonly yes",
       [](SetFacts& set) { set_info(set, "aof_enabled", "0"); }},
      {"MISCONF",
       "bgsave",
       Level::error,
       "free space on its disk",
       [](SetFacts& set) { set_info(set, "rdb_last_bgsave_status", "err"); }},
      {"a replica",
       "role",
       Level::error,
       "let the URL name its master",
       [](SetFacts& set) {
         set.servers.front().role = Role{"slave", {}, "10.0.0.1:6379"};
       }},
      {"an open slot",
       "cluster",
       Level::warning,
       "redis-cli --cluster fix",
       [](SetFacts& set) {
         become_cluster(set);
         set.servers.front().open_slots = std::vector<std::string>{"93"};
       }},
      {"two sentinels",
       "sentinels",
       Level::warning,
       "run three or five",
       [](SetFacts& set) { add_sentinels(set, 2); }},
      {"sentinels that disagree",
       "sentinels",
       Level::warning,
       "a sentinel that stays behind does not reach the others",
       [](SetFacts& set) {
         add_sentinels(set, 3);
         set.sentinels.back().master = "10.0.0.2:6379";
       }},
      {"a missing right",
       "rights",
       Level::error,
       "ACL SETUSER worker +hset",
       [](SetFacts& set) {
         set.servers.front().rights =
             std::vector<Right>{{"hset", "~dlock:*", false}, {"get", "~dlock:*", true}};
       }},
      {"EVALSHA under another name",
       "scripts",
       Level::error,
       "allow EVALSHA and EVAL under these names",
       [](SetFacts& set) { set.servers.front().scripts = std::string("unknown command"); }},
      {"slow answers",
       "latency",
       Level::error,
       "a server that is nearer or less busy",
       [](SetFacts& set) {
         set.servers.front().latency = Latency{std::vector<Duration>(50, 3001ms), {}, {2ms}};
       }},
      {"timeout 60",
       "idle",
       Level::warning,
       "CONFIG SET timeout 0",
       [](SetFacts& set) {
         set.servers.front().config = Fields{
             {"timeout", "60"}, {"client-output-buffer-limit", ""}, {"appendfsync", "always"}};
       }},
      {"a sentinel with a certificate that ends within two weeks",
       "connect",
       Level::warning,
       "replace its files there",
       [](SetFacts& set) {
         add_sentinels(set, 3);
         for (SentinelFacts& one : set.sentinels)
           one.master = "db1:6379";
         set.sentinels.back().tls = true;
         set.sentinels.back().certificate = TlsFacts{.version = "TLSv1.3", .left = 13 * 24h};
       }},
      {"a certificate that ends within two weeks",
       "connect",
       Level::warning,
       "replace its files there",
       [](SetFacts& set) {
         set.servers.front().way.tls = true;
         set.servers.front().tls = TlsFacts{.version = "TLSv1.3", .left = 14 * 24h - 1s};
       }},
  };
  return all;
}

std::vector<Finding> worse_than_good(const SetFacts& set) {
  std::vector<Finding> all = judge(set, *LeaseTerms::check(30s, std::nullopt));
  std::erase_if(
      all, [](const Finding& one) { return one.level == Level::good || one.level == Level::info; });
  return all;
}

TEST_CASE("doctor: a faultless server, set and cluster have no finding, and nothing is unseen") {
  CHECK(worse_than_good(faultless_set()).empty());
  SetFacts watched = faultless_set();
  add_sentinels(watched, 3);
  CHECK(worse_than_good(watched).empty());
  for (SentinelFacts& one : watched.sentinels) {
    one.tls = true;
    one.master = "db1:6379";
    one.certificate = TlsFacts{.version = "TLSv1.3", .left = 14 * 24h};
  }
  CHECK(worse_than_good(watched).empty());
  SetFacts cluster = faultless_set();
  become_cluster(cluster);
  CHECK(worse_than_good(cluster).empty());
}

TEST_CASE("doctor: one fault is one finding, with its id, level and remedy") {
  for (const Fault& fault : faults()) {
    CAPTURE(fault.what);
    SetFacts set = faultless_set();
    fault.inject(set);
    const std::vector<Finding> found = worse_than_good(set);
    REQUIRE(found.size() == 1);
    CHECK(found.front().id == fault.id);
    CHECK(found.front().level == fault.level);
    CHECK(has(found.front().remedy, fault.remedy));
    CHECK_FALSE(found.front().seen.empty());
    CHECK_FALSE(found.front().text.empty());
    CHECK_FALSE(found.front().server.empty());
  }
}

TEST_CASE("doctor: a server for which there was no time is not seen, neither good nor bad") {
  SetFacts set = faultless_set();
  set.unasked = {"redis://db2:6379/0"};
  const std::vector<Finding> found = worse_than_good(set);
  REQUIRE(found.size() == 1);
  CHECK(found.front().id == "connect");
  CHECK(found.front().server == "redis://db2:6379/0");
  CHECK(found.front().level == Level::not_seen);
}

TEST_CASE("doctor: masters and replicas that may not be asked for are not seen") {
  SetFacts set = faultless_set();
  become_cluster(set);
  set.cluster->masters = Seen<int>::unseen("CLUSTER SLOTS is refused");
  set.servers.front().role = Seen<Role>::unseen("ROLE is refused");
  const std::vector<Finding> found = worse_than_good(set);
  REQUIRE(found.size() == 2);
  CHECK(found[0].id == "cluster");
  CHECK(found[0].seen == "CLUSTER SLOTS is refused");
  CHECK(found[1].id == "role");
  CHECK(found[1].seen == "ROLE is refused");
}

}  // namespace
}  // namespace dlock::doctor
