// SPDX-License-Identifier: MIT
#include "store/zookeeper/examine_zookeeper.hpp"

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

}  // namespace dlock
