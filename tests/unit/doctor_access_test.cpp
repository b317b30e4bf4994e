// SPDX-License-Identifier: MIT
// The rules of doctor about access and about sets of servers, with invented facts.
#include "store/doctor/examine_machine.hpp"
#include "store/redis/doctor/rules.hpp"
#include "store/redis/failover_time.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/has.hpp"

namespace dlock::doctor {
namespace {

using namespace std::chrono_literals;
using test::has;

Terms with(int replicas, bool of_a_set = false) {
  return {*LeaseTerms::check(30s, std::nullopt), replicas, of_a_set};
}

ServerFacts far_server() {
  ServerFacts server;
  server.way.url = "redis://db1:6379/0";
  return server;
}

ServerFacts master_with(std::vector<std::string> replicas, Fields info = {}) {
  ServerFacts server = far_server();
  server.role = Role{"master", {}, {}};
  info["role"] = "master";
  for (std::size_t i = 0; i < replicas.size(); ++i)
    info["slave" + std::to_string(i)] = replicas[i];
  server.info = std::move(info);
  return server;
}

constexpr const char* k_near = "ip=10.0.0.2,port=6380,state=online,offset=14,lag=0";
constexpr const char* k_in_turn = "ip=10.0.0.2,port=6380,state=online,offset=14,lag=2";
constexpr const char* k_behind = "ip=10.0.0.2,port=6380,state=online,offset=14,lag=3";
constexpr const char* k_joining = "ip=10.0.0.2,port=6380,state=wait_bgsave,offset=0,lag=0";

std::vector<Right> rights_but(const std::string& command, const std::string& pattern) {
  std::vector<Right> all{{"eval", "", command != "eval"}};
  for (const char* const word : {"get", "hset", "zcount"}) {
    for (const char* const place : {"~dlock:*", "~redisson_lock_token:*"}) {
      all.push_back(
          {word, place, word != command && place != pattern, word == std::string("zcount")});
    }
  }
  for (const char* const word : {"subscribe", "publish"})
    all.push_back({word, "&dlock:turn:*", word != command && pattern != "&dlock:turn:*", true});
  return all;
}

TEST_CASE("doctor rights: the line for ACL SETUSER has exactly what is missing") {
  CHECK(missing_rights(rights_but("", "")).needed.empty());
  CHECK(missing_rights(rights_but("", "")).optional.empty());
  CHECK(missing_rights(rights_but("hset", "")).needed == "+hset");
  CHECK(missing_rights(rights_but("eval", "")).needed == "+eval");
  CHECK(missing_rights(rights_but("zcount", "")).needed.empty());
  CHECK(missing_rights(rights_but("zcount", "")).optional == "+zcount");
  CHECK(missing_rights(rights_but("publish", "")).optional == "+publish");
  CHECK(missing_rights(rights_but("", "~dlock:*")).needed == "~dlock:*");
  CHECK(missing_rights(rights_but("hset", "~redisson_lock_token:*")).needed ==
        "+hset ~redisson_lock_token:*");
  CHECK(missing_rights(rights_but("", "&dlock:turn:*")).optional ==
        "&dlock:turn:* +publish +subscribe");
  // A pattern for reading only.
  CHECK(
      missing_rights({{"get", "~a*", true}, {"set", "~a*", false}, {"set", "~b*", true}}).needed ==
      "~a*");

  ServerFacts server = far_server();
  server.user = std::string("worker");
  server.rights = rights_but("hset", "");
  CHECK(judge_rights(server, with(0)).level == Level::error);
  CHECK(judge_rights(server, with(0)).remedy == "ACL SETUSER worker +hset");
  CHECK(judge_rights(server, with(0)).text == "dlock cannot work without them");
  server.rights = rights_but("eval", "");
  CHECK(has(judge_rights(server, with(0)).text, "only a script can look for others"));
  server.rights = rights_but("zcount", "");
  CHECK(judge_rights(server, with(0)).level == Level::warning);
  server.rights = rights_but("", "");
  CHECK(judge_rights(server, with(0)).level == Level::good);
}

TEST_CASE("doctor scripts: a server without them is no place for locks") {
  ServerFacts server = far_server();
  server.scripts = std::string();
  server.undeclared = std::string();
  CHECK(judge_scripts(server, with(0)).level == Level::good);
  CHECK(judge_undeclared(server, with(0)).level == Level::good);
  server.scripts = std::string("ERR unknown command 'EVALSHA'");
  server.undeclared = std::string("ERR undeclared");
  CHECK(judge_scripts(server, with(0)).level == Level::error);
  CHECK(judge_undeclared(server, with(0)).level == Level::warning);
}

TEST_CASE("doctor auth, protect: what other machines can do, or read on the way") {
  ServerFacts server = far_server();
  CHECK(judge_auth(server, with(0)).level == Level::warning);
  server.way.is_near = true;
  CHECK(judge_auth(server, with(0)).level == Level::info);
  server.open_to_all = true;
  server.config = Fields{{"protected-mode", "no"}, {"bind", "* -::*"}, {"port", "6379"}};
  CHECK(judge_protect(server, with(0)).level == Level::warning);
  server.config =
      Fields{{"protected-mode", "no"}, {"bind", "* -::*"}, {"port", "0"}, {"tls-port", "6380"}};
  CHECK(judge_protect(server, with(0)).level == Level::warning);
  for (const char* const open : {"127.0.0.1 10.0.0.1", "", "127.0.0.1 *", "-::* 127.0.0.1"}) {
    server.config = Fields{{"protected-mode", "no"}, {"bind", open}, {"port", "6379"}};
    CHECK(judge_protect(server, with(0)).level == Level::warning);
  }
  for (const Fields& closed : {Fields{{"protected-mode", "yes"}, {"bind", "*"}},
                               Fields{{"protected-mode", "no"}, {"bind", "127.0.0.1 -::1"}},
                               Fields{{"protected-mode", "no"}, {"bind", "127.0.0.1 127.0.0.2"}},
                               Fields{{"protected-mode", "no"}, {"port", "0"}}}) {
    server.config = closed;
    CHECK(judge_protect(server, with(0)).level == Level::good);
  }
  server.open_to_all = false;
  CHECK(judge_protect(server, with(0)).level == Level::good);
  server.way = {.url = "redis://db1:6379/0", .has_password = true, .user = "worker"};
  CHECK(judge_auth(server, with(0)).level == Level::info);
  CHECK(has(judge_protect(server, with(0)).seen, "unencrypted"));
  server.way.tls = true;
  CHECK(judge_protect(server, with(0)).level == Level::good);
  CHECK(judge_connect(server, with(0)).level == Level::not_seen);
  server.way.insecure = true;
  CHECK(judge_connect(server, with(0)).level == Level::warning);
  server.unreachable = Error{Errc::unavailable, "cannot reach it"};
  CHECK(judge_connect(server, with(0)).level == Level::error);
}

TEST_CASE(
    "doctor connect: TLS, the names and the end of the certificate, and two weeks before it") {
  ServerFacts server = far_server();
  CHECK(judge_connect(server, with(0)).level == Level::good);
  server.way.tls = true;
  server.tls = TlsFacts{"TLSv1.3", {"db1", "10.0.0.1"}, "2027-01-15 12:00 UTC", 14 * 24h};
  CHECK(judge_connect(server, with(0)).level == Level::info);
  CHECK(judge_connect(server, with(0)).seen ==
        "TLSv1.3, its certificate is for db1 and 10.0.0.1 and ends on 2027-01-15 12:00 UTC");
  for (const std::chrono::seconds left : {14 * 24h - 1s, std::chrono::seconds(-1)}) {
    server.tls = TlsFacts{"TLSv1.3", {"db1"}, "2027-01-15 12:00 UTC", left};
    CHECK(judge_connect(server, with(0)).level == Level::warning);
    CHECK(judge_connect(server, with(0)).seen == "its certificate ends on 2027-01-15 12:00 UTC");
  }
}

TEST_CASE("doctor proxy: a session that changes, or no ROLE") {
  ServerFacts server = far_server();
  server.one_connection = true;
  CHECK(judge_proxy(server, with(0)).level == Level::good);
  server.one_connection = false;
  CHECK(judge_proxy(server, with(0)).level == Level::warning);
  server.one_connection = true;
  server.role_is_unknown = true;
  CHECK(judge_proxy(server, with(0)).level == Level::warning);
}

TEST_CASE("doctor role: a replica at the URL is an error, one behind its master is none") {
  ServerFacts server = far_server();
  server.role = Role{"slave", {}, "10.0.0.1:6379"};
  CHECK(judge_role(server, with(0)).level == Level::error);
  CHECK(has(judge_role(server, with(0)).seen, "10.0.0.1:6379"));
  server.way.is_replica = true;
  CHECK(judge_role(server, with(0)).level == Level::good);
  CHECK(judge_role(master_with({k_near}), with(0)).level == Level::info);
  server = master_with({}, {});
  server.info = Fields{{"role", "active-replica"}};
  CHECK(judge_role(server, with(0)).level == Level::error);
  server.role = Role{"sentinel", {}, {}};
  server.info = Fields();
  CHECK(judge_role(server, with(0)).level == Level::error);
}

TEST_CASE("doctor topology: a plain URL leads astray after a failover") {
  CHECK(judge_topology(master_with({}), with(0)).level == Level::good);
  CHECK(judge_topology(master_with({k_near}), with(0)).level == Level::warning);
  CHECK(judge_topology(master_with({k_near}), with(1, true)).level == Level::good);
  CHECK(judge_topology(master_with({}, {{"cluster_enabled", "1"}}), with(0)).level ==
        Level::warning);
  ServerFacts watched = master_with({});
  watched.sentinels = 3;
  CHECK(has(judge_topology(watched, with(0)).seen, "sentinels watch it"));
}

TEST_CASE("doctor replicas: fewer than --replicas is an error, one that is behind a warning") {
  CHECK(judge_replicas(master_with({k_near}), with(1)).level == Level::good);
  CHECK(judge_replicas(master_with({k_near}), with(2)).level == Level::error);
  CHECK(judge_replicas(master_with({k_joining}), with(1)).level == Level::error);
  CHECK(judge_replicas(master_with({k_joining}), with(0)).level == Level::warning);
  CHECK(has(judge_replicas(master_with({k_behind}), with(1)).seen, "10.0.0.2:6380 is 3 s behind"));
  CHECK(judge_replicas(master_with({k_in_turn}), with(1)).level == Level::good);
  CHECK(judge_replicas(master_with({}), with(1)).level == Level::error);
  Terms shard = with(1);
  shard.of_one_shard = true;
  CHECK(judge_replicas(master_with({}), shard).level == Level::not_seen);
  CHECK(judge_replicas(master_with({k_joining}), shard).level == Level::error);
}

TEST_CASE("doctor minrepl: an old master must stop granting, by itself or by --replicas") {
  CHECK(judge_minrepl(master_with({}), with(0)).level == Level::good);
  CHECK(judge_minrepl(master_with({k_near}), with(0)).level == Level::warning);
  CHECK(judge_minrepl(master_with({k_near, k_near}), with(1)).level == Level::warning);
  CHECK(judge_minrepl(master_with({k_near}), with(1)).level == Level::good);
  CHECK(judge_minrepl(master_with({k_near}, {{"min_slaves_good_slaves", "1"}}), with(0)).level ==
        Level::good);
  CHECK(has(judge_minrepl(master_with({k_near}), with(0)).text, "for ever when it is cut off"));
  CHECK(has(judge_minrepl(master_with({k_near}, {{"cluster_enabled", "1"}}), with(0)).text,
            "for cluster-node-timeout"));
}

SentinelFacts sentinel(std::string down_after_ms = "3000") {
  return {.url = "redis://h1:26379/0",
          .master = "10.0.0.1:6379",
          .fields = {{"down-after-milliseconds", std::move(down_after_ms)}, {"quorum", "2"}},
          .others_alive = 2,
          .check = std::string()};
}

SetFacts set_of(const SentinelFacts& one) {
  return {.url = "redis+sentinel://h1,h2,h3/m/0", .sentinels = {sentinel(), one, sentinel()}};
}

TEST_CASE("failover: the table of the man page says which --ttl outlives which down-after") {
  const auto fits = [](Duration ttl) {
    return std::chrono::floor<std::chrono::milliseconds>(
               failover_that_fits(*LeaseTerms::check(ttl, std::nullopt)))
        .count();
  };
  for (const auto& [ttl, down_after] :
       {std::pair{30s, 3800}, {60s, 21000}, {75s, 30900}, {120s, 60000}}) {
    CAPTURE(ttl.count());
    CHECK(fits(ttl) >= down_after);
    CHECK(fits(ttl) < down_after * 105 / 100);
  }
  for (const auto& [ttl, timeout] :
       {std::pair{30s, 3200ms}, {60s, 14500ms}, {75s, 21000ms}, {120s, 40000ms}}) {
    CAPTURE(ttl.count());
    CHECK(fits(ttl) >= to_ms(down_after_in_cluster(timeout)));
    CHECK(fits(ttl) < to_ms(down_after_in_cluster(timeout * 110 / 100)));
  }
}

TEST_CASE("doctor failover: a hold outlives it if the lease is long enough (row 40)") {
  const auto lease = *LeaseTerms::check(30s, std::nullopt);
  CHECK(judge_failover(set_of(sentinel()), {lease}).level == Level::info);
  const Finding finding = judge_failover(set_of(sentinel("30000")), {lease});
  CHECK(finding.level == Level::warning);
  CHECK(finding.seen == "a failover here takes up to 33s");
  CHECK(finding.text == "a hold of 30s may end by it, --ttl 75s would outlive it");
  CHECK(judge_failover(set_of(sentinel("30000")), {*LeaseTerms::check(75s, std::nullopt)}).level ==
        Level::info);
  CHECK(judge_failover({.url = "", .sentinels = {SentinelFacts()}}, {lease}).level ==
        Level::not_seen);
}

TEST_CASE("doctor failover: a hold goes on only where enough replicas are left to confirm it") {
  SetFacts set = set_of(sentinel());
  const auto says = [&](std::vector<std::string> replicas, int wanted, const char* least) {
    set.servers = {master_with(std::move(replicas))};
    set.servers.front().config = Fields{{"min-replicas-to-write", least}};
    return judge_failover(set, with(wanted)).text;
  };
  CHECK(has(says({k_near, k_near}, 1, "0"), "outlives it"));
  CHECK(has(says({k_near}, 0, "0"), "outlives it"));
  CHECK(has(says({k_near}, 1, "0"), "too few replicas are left"));
  CHECK(has(says({k_near}, 0, "1"), "too few replicas are left"));
  CHECK(has(says({k_near, k_near}, 2, "0"), "too few replicas are left"));
  CHECK(has(says({k_near, k_near}, 1, "2"), "too few replicas are left"));
}

TEST_CASE("doctor replicas: a shard whose replica is away grants nothing") {
  Terms terms = with(1);
  terms.of_one_shard = true;
  ServerFacts server = master_with({});
  server.has_replica = true;
  CHECK(judge_replicas(server, terms).level == Level::error);
  CHECK(judge_shard(server, terms).level == Level::good);
  server.has_replica = false;
  CHECK(judge_replicas(server, terms).level == Level::good);
  CHECK(judge_shard(server, terms).level == Level::warning);
}

TEST_CASE("doctor sentinels: each, their number, and that they agree") {
  CHECK(judge_sentinels(set_of(sentinel())).level == Level::good);
  SentinelFacts other = sentinel();
  other.master = "10.0.0.2:6379";
  CHECK(has(judge_sentinels(set_of(other)).seen, "different masters"));
  other = sentinel();
  other.unreachable = Error{Errc::unavailable, "cannot reach redis://h2:26379"};
  CHECK(has(judge_sentinels(set_of(other)).seen, "cannot reach redis://h2:26379"));
  SetFacts silent = set_of(other);
  silent.sentinels[2].unreachable = Error{Errc::timed_out, "no answer from redis://h3:26379"};
  CHECK(judge_sentinels(silent).seen ==
        "cannot reach redis://h2:26379; no answer from redis://h3:26379");
  other = sentinel();
  other.check = std::string("NOQUORUM 1 usable Sentinels");
  CHECK(has(judge_sentinels(set_of(other)).seen, "NOQUORUM"));
  other = sentinel();
  other.fields["quorum"] = "4";
  CHECK(has(judge_sentinels(set_of(other)).seen, "the quorum is 4"));
  other = sentinel();
  other.tls = true;
  CHECK(has(judge_sentinels(set_of(other)).seen, "by its address"));
  SetFacts pair = set_of(sentinel());
  for (SentinelFacts& one : pair.sentinels)
    one.others_alive = 1;
  CHECK(has(judge_sentinels(pair).seen, "there are 2 sentinels"));
  // With the rights that dlock-protocol(7) names: the others are not known, and that is no fault.
  for (SentinelFacts& one : pair.sentinels)
    one.others_alive = Seen<int>::unseen("SENTINEL SENTINELS is refused");
  CHECK(judge_sentinels(pair).level == Level::not_seen);
  CHECK(judge_sentinels(pair).seen == "SENTINEL SENTINELS is refused");
  pair.sentinels[2].others_alive = 2;
  CHECK(judge_sentinels(pair).level == Level::good);
  for (SentinelFacts& one : pair.sentinels)
    one.unreachable = Error{Errc::unavailable, "gone"};
  CHECK(judge_sentinels(pair).level == Level::error);
}

TEST_CASE("doctor cluster: its state, its slots, and each shard") {
  SetFacts set{.url = "redis+cluster://h1", .cluster = ClusterFacts()};
  CHECK(judge_cluster(set).level == Level::not_seen);
  set.servers = {master_with({}, {{"cluster_enabled", "0"}})};
  CHECK(judge_cluster(set).level == Level::error);
  set.servers.clear();
  const auto lease = *LeaseTerms::check(30s, std::nullopt);
  CHECK(judge_failover(set, {lease}).level == Level::not_seen);
  set.cluster->slot = 42;
  set.cluster->owner = "redis://h2:6379/0";
  const auto with_state = [&](const char* state, const char* covered) {
    set.cluster->info = Fields{{"cluster_state", state}, {"cluster_slots_ok", covered}};
    return judge_cluster(set);
  };
  CHECK(with_state("ok", "16384").level == Level::info);
  CHECK(with_state("ok", "16384").seen == "slot 42 is at redis://h2:6379/0");
  CHECK(with_state("fail", "16384").level == Level::error);
  CHECK(has(with_state("ok", "16000").seen, "384 of 16384 slots have no master"));
  set.cluster->timeout = Fields{{"cluster-node-timeout", "2000"}};
  CHECK(judge_failover(set, {lease}).level == Level::info);
  set.cluster->timeout = Fields{{"cluster-node-timeout", "15000"}};
  CHECK(has(judge_failover(set, {lease}).text, "--ttl 65s"));

  ServerFacts master = master_with({});
  CHECK(judge_shard(master, with(0, true)).level == Level::warning);
  CHECK(judge_shard(master_with({k_near}), with(0, true)).level == Level::good);
  master.open_slots = std::vector<std::string>();
  CHECK(judge_open_slots(master, with(0, true)).level == Level::good);
  master.open_slots = std::vector<std::string>{"93"};
  CHECK(has(judge_open_slots(master, with(0, true)).seen, "93"));
}

TEST_CASE("doctor clock: the servers of a set agree within a second") {
  SetFacts set{.url = "u", .servers = {far_server(), far_server()}};
  set.servers[0].clock = Clock{1, 0, 5s};
  set.servers[1].clock = Clock{1, 0, 6s};
  CHECK(judge_clocks(set).level == Level::good);
  set.servers[1].clock = Clock{1, 0, 6001ms};
  CHECK(judge_clocks(set).level == Level::warning);
}

TEST_CASE("doctor: the lines of INFO become fields") {
  const Fields fields = parse_info("# Server\r\nredis_version:7.0.15\r\n\r\nmaster_host:::1\r\n");
  CHECK(fields.size() == 2);
  CHECK(fields.at("redis_version") == "7.0.15");
  CHECK(fields.at("master_host") == "::1");
}

TEST_CASE("doctor local: the clock source, and whether --contain has a cgroup") {
  const auto levels = [](const MachineFacts& machine) {
    std::vector<Level> all;
    for (const Finding& one : judge_machine(machine))
      all.push_back(one.level);
    return all;
  };
  CHECK(levels({"tsc", true}) == std::vector{Level::good, Level::good});
  CHECK(levels({"jiffies", false}) == std::vector{Level::warning, Level::info});
  CHECK(levels({"", true}) == std::vector{Level::not_seen, Level::good});
}

}  // namespace
}  // namespace dlock::doctor
