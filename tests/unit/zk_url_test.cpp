// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_url.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/has.hpp"

namespace dlock {
namespace {

using test::has;

ZkAddress parsed(std::string_view url) {
  auto address = parse_zk_url(url);
  CAPTURE(url);
  CAPTURE((address ? "" : address.error().text));
  REQUIRE(address.has_value());
  return std::move(*address);
}

std::string refused(std::string_view url) {
  const auto address = parse_zk_url(url);
  CAPTURE(url);
  REQUIRE_FALSE(address.has_value());
  CHECK(address.error().code == Errc::bad_usage);
  return address.error().text;
}

TEST_CASE("zk url: a host alone") {
  const auto address = parsed("zookeeper://ZK1.example.org");
  REQUIRE(address.servers.size() == 1);
  CHECK(address.servers[0].host == "zk1.example.org");
  CHECK(address.servers[0].port == 2181);
  CHECK(address.servers[0].tls == nullptr);
  CHECK(address.user.empty());
  CHECK(address.chroot.empty());
  CHECK(address.layout == ZkLayout::curator);
  CHECK(address.acl() == ZkAcl::open);
  CHECK(address.text == "zookeeper://zk1.example.org:2181/");
}

TEST_CASE("zk url: all parts are separated and decoded") {
  const auto address =
      parsed("zookeeper://ann:p%2Fq@r@h1:7,[::1],h3/app/lo%20cks?layout=kazoo&acl=private");
  REQUIRE(address.servers.size() == 3);
  CHECK(address.servers[1].host == "::1");
  CHECK(address.servers[1].port == 2181);
  CHECK(address.user == "ann");
  CHECK(address.password.reveal() == "p/q@r");
  CHECK(address.chroot == "/app/lo cks");
  CHECK(address.layout == ZkLayout::kazoo);
  CHECK(address.acl() == ZkAcl::secret);
  CHECK(address.text == "zookeeper://h1:7,[::1]:2181,h3:2181/app/lo%20cks?layout=kazoo");
  CHECK(parsed(address.text).text == address.text);
  CHECK(parsed("zookeeper://[fe80::1%25eth0]/app").servers[0].host == "fe80::1%eth0");
  CHECK(parsed("zookeeper://ann:x@h").acl() == ZkAcl::readable);
  CHECK(parsed("zookeeper://ann@h").password.empty());
}

TEST_CASE("zk url: two spellings of one address have one canonical text") {
  CHECK(parsed("zookeeper://H").text == parsed("zookeeper://h:2181/?layout=curator").text);
  CHECK(parsed("zookeeper://h/a%2Fb").text == parsed("zookeeper://u:p@h/a/b").text);
}

TEST_CASE("zk url: zookeepers:// has TLS, with the settings that were said") {
  TlsSettings tls;
  tls.cacert = "/ca";
  const auto address = parse_zk_url("zookeepers://h1,h2:7/a", tls);
  REQUIRE(address.has_value());
  REQUIRE(address->servers.size() == 2);
  REQUIRE(address->servers[1].tls != nullptr);
  CHECK(address->servers[1].tls->cacert == "/ca");
  CHECK(address->servers[0].port == 2281);
  CHECK(address->text == "zookeepers://h1:2281,h2:7/a");
}

TEST_CASE("zk url: what is wrong is said, and no part of it") {
  CHECK(has(refused("zk://h"), "begins with neither zookeeper:// nor zookeepers://"));
  CHECK(has(refused("zookeeper://"), "host is missing"));
  CHECK(has(refused("zookeeper:///a"), "host is missing"));
  CHECK(has(refused("zookeeper://h//a"), "none that ZooKeeper takes"));
  CHECK(has(refused("zookeeper://h/a/"), "none that ZooKeeper takes"));
  CHECK(has(refused("zookeeper://h/../a"), "none that ZooKeeper takes"));
  CHECK(has(refused("zookeeper://h/a%00"), "none that ZooKeeper takes"));
  CHECK(has(refused("zookeeper://h/a#b"), "%23"));
  CHECK(has(refused("zookeeper://:s3cret@h"), "user before the password is missing"));
  CHECK(has(refused("zookeeper://a%3Ab:s3cret@h"), "a user has no ':'"));
  CHECK(has(refused("zookeeper://h?layout=go"), "layout= is curator or kazoo"));
  CHECK(has(refused("zookeeper://a:b@h?acl=open"), "acl= is private"));
  CHECK(has(refused("zookeeper://h?acl=private"), "acl=private needs user:password@"));
  CHECK(has(refused("zookeeper://h?timeout=3"), "no option timeout; there are layout and acl"));
  for (const char* const url : {"zookeeper://ann:s3cret@",
                                "zookeeper://ann:s3/cret@h",
                                "zookeeper://h:s3cret",
                                "zookeeper://ann:s3?cret@h",
                                "zookeeper://h?S3cret=a",
                                "zookeeper://ann:x@h/../s3cret"})
    CHECK_FALSE(has(refused(url), "cret"));
}

}  // namespace
}  // namespace dlock
