// SPDX-License-Identifier: MIT
#include "store/zookeeper/examine_zookeeper.hpp"
#include "store/zookeeper/zk_rights.hpp"

#include <doctest/doctest.h>

namespace dlock {

TEST_CASE("zookeeper: doctor judges version, mode and number of servers") {
  const auto words = parse_srvr(
      "Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2023\nLatency min/avg/max: 0/0/0\n"
      "Mode: leader\nNode count: 5\n");
  REQUIRE(words);
  CHECK(words->version == "3.8.0");
  CHECK(words->mode == "leader");
  CHECK_FALSE(parse_srvr("This ZooKeeper instance is not currently serving requests\n"));
  CHECK(judge_zk_version("3.8.0").level == Level::info);
  CHECK(judge_zk_version("3.4.14").level == Level::error);
  CHECK(judge_zk_version("").level == Level::not_seen);
  CHECK(judge_zk_mode("follower").level == Level::good);
  CHECK(judge_zk_mode("standalone").level == Level::info);
  CHECK(judge_zk_mode("").level == Level::error);
  CHECK(judge_zk_servers(1).level == Level::info);
  CHECK(judge_zk_servers(3).level == Level::good);
}

TEST_CASE("zookeeper: who else may change a node is told by its ACL, as zkCli writes it") {
  using Acl = std::vector<ZkRight>;
  const ZkRight ours{31, "digest", "ann:hash"};
  const ZkRight readers{1, "world", "anyone"};
  CHECK(zk_others(Acl{ours}, "ann").empty());
  CHECK(zk_others(Acl{ours, readers}, "ann").empty());
  CHECK(zk_others(Acl{}, "ann").empty());
  CHECK(zk_others(Acl{{31, "world", "anyone"}}, "ann") == "world:anyone:cdrwa");
  CHECK(zk_others(Acl{ours, {12, "ip", "10.0.0.1"}}, "ann") == "ip:10.0.0.1:cd");
  CHECK(zk_others(Acl{ours, {9, "digest", "annabel:hash"}}, "ann") == "digest:annabel:hash:dr");
  // Two entries have our user name; one of them has another password.
  CHECK(zk_others(Acl{ours, {31, "digest", "ann:other"}}, "ann") == "digest:ann:other:cdrwa");
  CHECK(zk_others(Acl{{31, "sasl", "ann:x"}}, "ann") == "sasl:ann:x:cdrwa");
}

TEST_CASE("zookeeper: doctor warns where others may make the node of a lock first") {
  CHECK(judge_zk_folder("/a", "", false).level == Level::good);
  CHECK(judge_zk_folder("/a", "world:anyone:cdrwa", false).level == Level::warning);
  CHECK(judge_zk_folder("/a", "world:anyone:cdrwa", true).level == Level::info);
}

}  // namespace dlock
