// SPDX-License-Identifier: MIT
// URLs of sets that sentinels watch, and the choice among several answers.
#include "store/redis/sentinel_route.hpp"
#include "store/redis/sentinel_url.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/has.hpp"

namespace dlock {
namespace {

using test::has;

TEST_CASE("sentinel: a URL has the sentinels, the name of the master, and the database") {
  const auto set = parse_sentinel_url("redis+sentinel://ann:p%40ss@H1,h2:5000,[::1]/my%2Fmaster/3");
  REQUIRE(set.has_value());
  REQUIRE(set->sentinels.size() == 3);
  CHECK(set->sentinels[0].endpoint.host == "h1");
  CHECK(set->sentinels[0].endpoint.port == 26379);
  CHECK(set->sentinels[0].user.empty());  // the sentinels get no password of the servers
  CHECK(set->sentinels[0].password.empty());
  CHECK(set->sentinels[1].endpoint.port == 5000);
  CHECK(set->sentinels[2].endpoint.host == "::1");
  CHECK(set->name == "my/master");
  CHECK(set->server.user == "ann");
  CHECK(set->server.password.reveal() == "p@ss");
  CHECK(set->server.db == 3);
  CHECK(set->server.text == "redis+sentinel://h1:26379,h2:5000,[::1]:26379/my%2fmaster/3");
}

TEST_CASE("sentinel: rediss+sentinel is TLS to all, and sentinels may have a user of their own") {
  const auto tls = parse_sentinel_url("rediss+sentinel://h1/m");
  REQUIRE(tls.has_value());
  CHECK(tls->server.endpoint.tls != nullptr);
  CHECK(tls->sentinels[0].endpoint.tls != nullptr);
  CHECK(parse_sentinel_url("redis+sentinel://h/m?sentinel_user=bob")->sentinels[0].user == "bob");
  CHECK_FALSE(is_sentinel_url("redis://h/1"));
}

TEST_CASE("sentinel: a URL without a name, with a bad host or a query is refused") {
  for (const char* const url : {"redis+sentinel://h1,h2",
                                "redis+sentinel://h1,h2/",
                                "redis+sentinel:///m",
                                "redis+sentinel://,/m",
                                "redis+sentinel://h1/m/x",
                                "redis+sentinel://h1/m?db=1"}) {
    CAPTURE(url);
    const auto set = parse_sentinel_url(url);
    REQUIRE_FALSE(set.has_value());
    CHECK(set.error().code == Errc::bad_usage);
  }
  CHECK(has(parse_sentinel_url("redis+sentinel://h1").error().text, "name of the master"));
}

MasterWord word(const std::string& host, long long epoch) {
  return {.host = host, .port = 6379, .epoch = epoch, .replicas = 1};
}

TEST_CASE("sentinel: the address that most name is taken, of equals that of the larger epoch") {
  CHECK(choose_master({word("old", 9), word("new", 3), word("new", 3)})->host == "new");
  CHECK(choose_master({word("old", 2), word("new", 3)})->host == "new");
  CHECK(choose_master({word("new", 3), word("old", 2)})->host == "new");
  CHECK(choose_master({word("", 0), word("only", 1), word("", 0)})->host == "only");
  CHECK_FALSE(choose_master({word("", 0)}).has_value());
}

TEST_CASE("sentinel: a set has no replica only if most sentinels say so, and none says otherwise") {
  MasterWord with = word("m", 1);
  with.replicas = 1;
  MasterWord without = with;
  without.replicas = 0;
  CHECK_FALSE(may_have_replica({without, without, without}, 3));
  CHECK_FALSE(may_have_replica({without, without}, 3));
  CHECK_FALSE(may_have_replica({without}, 1));
  CHECK(may_have_replica({without}, 2));
  CHECK(may_have_replica({without}, 3));
  CHECK(may_have_replica({without, word("", 0), word("", 0)}, 3));
  CHECK(may_have_replica({without, without, with}, 3));
  CHECK(may_have_replica({}, 3));
}

}  // namespace
}  // namespace dlock
