// SPDX-License-Identifier: MIT
// Rules for the URLs of all stores with servers.
#include "store/url/store_url.hpp"

#include "store/etcd/etcd_url.hpp"
#include "store/mysql/my_url.hpp"
#include "store/postgres/pg_url.hpp"
#include "store/redis/cluster_url.hpp"
#include "store/redis/redis_url.hpp"
#include "store/redis/sentinel_url.hpp"
#include "store/zookeeper/zk_url.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/has.hpp"

namespace dlock {
namespace {

using test::has;

// Returns the error of a store for the URL, or "".
template <auto parse>
std::string read(const std::string& url) {
  const auto address = parse(url);
  if (address) return "";
  CHECK(address.error().code == Errc::bad_usage);
  return address.error().text;
}
Result<ZkAddress> zk(std::string_view url) {
  return parse_zk_url(url);
}
Result<MyAddress> my(std::string_view url) {
  return parse_my_url(url);
}

struct Kind {
  const char* scheme;
  const char* tail;  // what must follow the hosts
  std::string (*read)(const std::string& url);
};
const Kind k_kinds[] = {{"redis://", "/1", &read<&parse_redis_url>},
                        {"rediss://", "", &read<&parse_redis_url>},
                        {"redis+sentinel://", "/m", &read<&parse_sentinel_url>},
                        {"rediss+cluster://", "", &read<&parse_cluster_url>},
                        {"etcd://", "", &read<&parse_etcd_url>},
                        {"etcds://", "/", &read<&parse_etcd_url>},
                        {"zookeeper://", "/app", &read<&zk>},
                        {"zookeepers://", "", &read<&zk>},
                        {"postgresql://", "/d", &read<&parse_pg_url>},
                        {"postgres://", "", &read<&parse_pg_url>},
                        {"mysql://", "/d", &read<&my>},
                        {"mariadb://", "/d", &read<&my>}};

TEST_CASE("store url: what every store takes") {
  for (const Kind& kind : k_kinds)
    for (const char* const hosts : {"h",
                                    "H-1.example.org:7",
                                    "[2001:db8::1]:7",
                                    "[fe80::1%25eth0]",
                                    "ann@h",
                                    "ann:x@h",
                                    "ann:p@ss@h",
                                    "ann:p:s@h",
                                    "ann:%2F%3F%40@h"})
      for (const char* const no_options : {"", "?", "?&"}) {
        const std::string url = std::string(kind.scheme) + hosts + kind.tail + no_options;
        CAPTURE(url);
        CHECK(kind.read(url) == "");
      }
}

TEST_CASE("store url: what every store refuses, with the same words, and never quotes") {
  const std::vector<std::pair<std::string, std::string>> refused{
      {"ann:s3cret@h 1", "written %20"},
      {"ann:s3cret@h\n", "written %20"},
      {"ann:s3/cret@h", "written %2F, %3F and %23"},
      {"ann:s3?cret=1@h", "written %2F, %3F and %23"},
      {"ann:s3#cret@h", "written %2F, %3F and %23"},
      {"ann:s3cret%00@h", "no NUL bytes"},
      {"ann:s3cret@h#x", "a '#' is written %23"},
      {"ann:s3cret@h:0", "the port must be a number from 1 to 65535"},
      {"ann:s3cret@h:65536", "the port must be"},
      {"ann:s3cret", "the port must be"},
      {"ann:s3cret@a::1", "needs [ ] around it"},
      {"ann:s3cret@[::1", "a [ without ]"},
      {"ann:s3cret@[h]", "not an IPv6 address"},
      {"ann:s3cret@h!", "a host consists of"}};
  for (const Kind& kind : k_kinds)
    for (const auto& [hosts, why] : refused) {
      const std::string url = kind.scheme + hosts + kind.tail;
      CAPTURE(url);
      const std::string said = kind.read(url);
      CHECK(has(said, why));
      CHECK_FALSE(has(said, "cret"));
    }
}

TEST_CASE("store url: options that a store does not have, and what is none") {
  for (const Kind& kind : k_kinds)
    for (const auto& [query, why] : std::vector<std::pair<std::string, std::string>>{
             {"?bogus=s3cret", "no option bogus; there"},
             {"?s3cret", "is written NAME=VALUE"},
             {"?S3-cret=1", "is written NAME=VALUE"},
             {"?password=s3cret", "DLOCK_PASSWORD"}}) {
      const std::string url = std::string(kind.scheme) + "h" + kind.tail + query;
      CAPTURE(url);
      const std::string said = kind.read(url);
      const bool has_none = has(said, "the URL has options, and ");
      CHECK((has_none || has(said, why)));
      CHECK_FALSE(has(said, "cret"));
    }
  CHECK(has(read<&my>("mysql://h/d?table=a&table=b"), "it says table twice"));
  CHECK(has(read<&zk>("zookeeper://h?layout=kazoo&layout=kazoo"), "it says layout twice"));
  CHECK(has(read<&my>("mysql://h/d?table=a%00"), "table has a NUL byte"));
  CHECK(has(read<&parse_etcd_url>("etcds://h?x=1"),
            "no option x; there are cacert, cacertdir, cert, key and sni"));
}

TEST_CASE("store url: without its '@' a password is neither a host nor an option that is quoted") {
  for (const Kind& kind : k_kinds) {
    const std::string said = kind.read(std::string(kind.scheme) + "ann:se/cret?word=1");
    CAPTURE(said);
    CHECK(has(said, "the port must be"));
  }
  const auto unix_socket = read<&parse_redis_url>("redis+unix://ann:se/cret?word=x@/run/r.sock");
  CHECK(has(unix_socket, "only [user[:password]@] may precede the path"));
  CHECK(read<&parse_redis_url>("redis+unix://ann:a?b#c@/run/r.sock") == "");
}

TEST_CASE("store url: at most 16 hosts, and at least one") {
  std::string many = "h1";
  for (int i = 2; i <= 17; ++i)
    many += ",h" + std::to_string(i);
  for (const Kind& kind : k_kinds) {
    const std::string scheme = kind.scheme;
    if (scheme == "redis://" || scheme == "rediss://" || has(scheme, "mysql") || scheme[0] == 'm')
      continue;
    CAPTURE(scheme);
    CHECK(has(kind.read(scheme + many + kind.tail), "a URL has at most 16 "));
    if (scheme[0] != 'p') CHECK(has(kind.read(scheme + kind.tail), "missing"));
  }
}

}  // namespace
}  // namespace dlock
