// SPDX-License-Identifier: MIT
// URLs of clusters, redirections, and the choice of the next node.
#include "store/redis/cluster_route.hpp"
#include "store/redis/cluster_url.hpp"
#include "store/redis/slot.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/has.hpp"

namespace dlock {
namespace {

using test::has;

const Error k_lost{Errc::unavailable, "gone"};
constexpr std::string_view k_key = "dlock:x";

TEST_CASE("cluster: a URL has nodes, one user for all, and no database but 0") {
  const auto set = parse_cluster_url("redis+cluster://ann:p%40ss@H1,h2:7000,[::1]/0");
  REQUIRE(set.has_value());
  REQUIRE(set->seeds.size() == 3);
  CHECK(set->seeds[0].endpoint.host == "h1");
  CHECK(set->seeds[0].endpoint.port == 6379);
  CHECK(set->seeds[1].endpoint.port == 7000);
  CHECK(set->seeds[2].endpoint.host == "::1");
  CHECK(set->seeds[2].user == "ann");
  CHECK(set->seeds[2].password.reveal() == "p@ss");
  CHECK(set->text == "redis+cluster://h1:6379,h2:7000,[::1]:6379");
  CHECK(parse_cluster_url("rediss+cluster://h1")->seeds[0].endpoint.tls != nullptr);
  CHECK(parse_cluster_url("redis+cluster://h/3").error().code == Errc::bad_config);
  for (const char* const url :
       {"redis+cluster://", "redis+cluster://,", "redis+cluster://h/x", "redis+cluster://h?a=b"}) {
    CAPTURE(url);
    CHECK(parse_cluster_url(url).error().code == Errc::bad_usage);
  }
}

TEST_CASE("cluster: MOVED names a slot, a host of any form, and a port") {
  const auto moved = read_moved("MOVED 3999 10.0.0.1:6381");
  REQUIRE(moved.has_value());
  CHECK(moved->slot == 3999);
  CHECK(moved->host == "10.0.0.1");
  CHECK(moved->port == 6381);
  CHECK(read_moved("MOVED 1 fe80::1:6381")->host == "fe80::1");
  CHECK(read_moved("MOVED 1 [::1]:6381")->host == "::1");
  CHECK(read_moved("MOVED 1 :6381")->host.empty());
  CHECK(read_moved("MOVED 1 ?:6381")->host.empty());
  for (const char* const reply : {"MOVED",
                                  "MOVED 1",
                                  "MOVED x h:1",
                                  "MOVED 1 h",
                                  "MOVED 1 h:0",
                                  "MOVED 1 h:70000",
                                  "MOVED 99999 h:1",
                                  "MOVED 1 [h]:1",
                                  "MOVED 1 a b:1",
                                  "ASK 1 h:1"}) {
    CAPTURE(reply);
    CHECK_FALSE(read_moved(reply).has_value());
  }
  CHECK_FALSE(read_moved(std::string_view("MOVED 1 h\0evil:1", 16)).has_value());
}

struct Asked {
  ClusterRoute route{parse_cluster_url("redis+cluster://ann:secret@h1,h2,h3")->seeds};
  std::string next(std::string_view key = k_key) { return address(key).text; }
  RedisAddress address(std::string_view key = k_key) { return *route.address_of(key, Time()); }
  bool answer(const std::string& reply) { return route.redirected(address(), reply); }
  void fail(std::string_view reply = {}) { route.failed(address(), k_lost, reply); }
  std::string moved_to(const std::string& where) {
    return "MOVED " + std::to_string(slot_of(k_key)) + " " + where;
  }
};

TEST_CASE("cluster: of an owner that a node has named, a wrong certificate is up to the nodes") {
  Asked asked;
  CHECK(asked.address().endpoint.rename.empty());
  REQUIRE(asked.answer(asked.moved_to(":7000")));  // at the host of the URL
  CHECK(asked.address().endpoint.rename.empty());
  REQUIRE(asked.answer(asked.moved_to("10.0.0.1:7000")));
  CHECK(asked.address().endpoint.rename.find("cluster-announce-hostname") != std::string::npos);
}

TEST_CASE("cluster: the owner that an answer names is asked from then on, for its slot") {
  Asked asked;
  CHECK(asked.next() == "redis://h1:6379/0");
  CHECK(asked.answer(asked.moved_to("10.0.0.9:7009")));
  CHECK(asked.next() == "redis://10.0.0.9:7009/0");
  CHECK(asked.address().user == "ann");
  CHECK(asked.address().password.reveal() == "secret");
  CHECK(asked.next("another") == "redis://h1:6379/0");
  CHECK_FALSE(asked.answer("ERR no"));
  CHECK(asked.next() == "redis://10.0.0.9:7009/0");
  CHECK(asked.answer(asked.moved_to(":7010")));  // at the host that answered
  CHECK(asked.next() == "redis://10.0.0.9:7010/0");
}

TEST_CASE("cluster: after an error of the owner the nodes of the URL and past owners are asked") {
  Asked asked;
  asked.answer(asked.moved_to("a:1"));
  asked.fail();
  CHECK(asked.next() == "redis://h1:6379/0");
  asked.fail();
  CHECK(asked.next() == "redis://h2:6379/0");
  asked.fail("CLUSTERDOWN The cluster is down");
  CHECK(asked.next() == "redis://h3:6379/0");
  CHECK(asked.answer("READONLY You can't write"));
  CHECK(asked.next() == "redis://a:1/0");
  asked.fail();
  CHECK(asked.next() == "redis://h1:6379/0");
  CHECK(asked.route.others() == 3);
}

TEST_CASE("cluster: a node that loads, has no master or no cluster is left for the next one") {
  for (const char* const reply : {"LOADING Redis is loading the dataset in memory",
                                  "MASTERDOWN Link with MASTER is down",
                                  "CLUSTERDOWN Hash slot not served",
                                  "READONLY You can't write against a read only replica."}) {
    CAPTURE(reply);
    Asked asked;
    asked.answer(asked.moved_to("a:1"));
    asked.fail(reply);
    CHECK(asked.next() == "redis://h1:6379/0");
    asked.fail(reply);
    CHECK(asked.next() == "redis://h2:6379/0");
  }
  Asked asked;
  asked.fail("ERR it is well, and does not like the question");
  CHECK(asked.next() == "redis://h1:6379/0");
}

TEST_CASE("cluster: only the first question about a slot is a guess, if there are other nodes") {
  Asked asked;
  CHECK(asked.next() == "redis://h1:6379/0");
  CHECK(asked.route.guesses());
  asked.answer(asked.moved_to("a:1"));
  CHECK(asked.next() == "redis://a:1/0");
  CHECK_FALSE(asked.route.guesses());
  asked.fail();
  CHECK(asked.next() != "redis://a:1/0");
  CHECK(asked.route.guesses());
}

TEST_CASE("cluster: what a server has told and is no host is not asked") {
  Asked asked;
  asked.answer(asked.moved_to("\x1b[31mevil\n:1"));
  CHECK(asked.next() == "redis://h1:6379/0");
}

TEST_CASE("cluster: CLUSTER NODES says whether the server that answers has a replica") {
  const std::string master = "aa 10.0.0.1:1@2 myself,master - 0 0 1 connected 0-5460\n";
  const std::string other = "bb 10.0.0.2:1@2 master - 0 0 2 connected 5461-16383\n";
  CHECK_FALSE(has_replica_here(master + other));
  CHECK_FALSE(has_replica_here(master + other + "cc 10.0.0.3:1@2 slave bb 0 0 2 connected\n"));
  CHECK(has_replica_here(other + master + "cc 10.0.0.3:1@2,h slave aa 0 0 1 connected\n"));
  CHECK(has_replica_here(master + "cc 10.0.0.3:1@2 slave,fail aa 0 0 1 disconnected"));
  CHECK_FALSE(has_replica_here("aa 10.0.0.1:1@2 myself,slave bb 0 0 1 connected\n" + other));
  CHECK_FALSE(has_replica_here(""));
}

TEST_CASE("cluster: an answer that says nothing of the place changes nothing") {
  Asked asked;
  asked.answer(asked.moved_to("a:1"));
  asked.fail("TRYAGAIN Multiple keys request during rehashing of slot");
  asked.fail("OOM command not allowed");
  CHECK(asked.next() == "redis://a:1/0");
}

TEST_CASE("cluster: owners are met without end, and only so many are kept") {
  Asked asked;
  for (int port = 1; port < 1000; ++port)
    asked.answer(asked.moved_to("a:" + std::to_string(port)));
  CHECK(asked.next() == "redis://a:999/0");
  CHECK(asked.route.others() == 63);
}

}  // namespace
}  // namespace dlock
