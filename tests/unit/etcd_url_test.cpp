// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_url.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "support/has.hpp"

namespace dlock {
namespace {

EtcdAddress parsed(std::string_view url) {
  CAPTURE(url);
  auto address = parse_etcd_url(url);
  REQUIRE(address.has_value());
  return std::move(*address);
}

std::string refused(std::string_view url) {
  CAPTURE(url);
  const auto address = parse_etcd_url(url);
  REQUIRE_FALSE(address.has_value());
  CHECK(address.error().code == Errc::bad_usage);
  for (const char* const part : {"s3cret", "p%40ss", "ann"})
    CHECK_FALSE(test::has(address.error().text, part));
  return address.error().text;
}

TEST_CASE("etcd url: a host alone gets etcd's port, and neither user nor TLS") {
  const auto address = parsed("etcd://db1");
  REQUIRE(address.servers.size() == 1);
  CHECK(address.servers[0].host == "db1");
  CHECK(address.servers[0].port == 2379);
  CHECK(address.servers[0].tls == nullptr);
  CHECK(address.user.empty());
  CHECK(address.password.empty());
  CHECK(address.text == "etcd://db1:2379");
}

TEST_CASE("etcd url: several members, in their order, each with its port") {
  const auto address = parsed("etcds://H2:99,h1,[::1]:2380,[2001:db8::1]");
  REQUIRE(address.servers.size() == 4);
  CHECK(address.servers[0].host == "h2");
  CHECK(address.servers[0].port == 99);
  CHECK(address.servers[1].port == 2379);
  CHECK(address.servers[2].host == "::1");
  for (const Endpoint& server : address.servers)
    CHECK(server.tls != nullptr);
  CHECK(address.text == "etcds://h2:99,h1:2379,[::1]:2380,[2001:db8::1]:2379");
  CHECK(url_of(address.servers[0]) == "etcds://h2:99");
  CHECK(url_of(parsed("etcd://[::1]").servers[0]) == "etcd://[::1]:2379");
  CHECK(parsed("etcd://[fe80::1%25eth0]").servers[0].host == "fe80::1%eth0");
  CHECK(url_of(parsed("etcd://[fe80::1%eth0]").servers[0]) == "etcd://[fe80::1%25eth0]:2379");
}

TEST_CASE("etcd url: user and password, decoded, and never in the text") {
  const auto address = parsed("etcd://ann:p%40s%3as@db1,db2/");
  CHECK(address.user == "ann");
  CHECK(address.password.reveal() == "p@s:s");
  CHECK(address.text == "etcd://db1:2379,db2:2379");
  CHECK(parsed("etcd://ann:s3@cret@db1").password.reveal() == "s3@cret");
  const auto silent = parsed("etcd://ann@db1");
  CHECK(silent.user == "ann");
  CHECK(silent.password.empty());
}

TEST_CASE("etcd url: two spellings of one address are equal") {
  CHECK(parsed("etcd://DB1").text == parsed("etcd://ann:x@db1:2379/").text);
  CHECK(parsed("etcd://db1").text != parsed("etcds://db1").text);
}

TEST_CASE("etcd url: what makes no sense is refused, and nothing of it is quoted") {
  CHECK(refused("redis://ann:s3cret@db1") == "it begins with neither etcd:// nor etcds://");
  CHECK(refused("etcd://") == "the host is missing");
  CHECK(refused("etcd://ann:s3cret@") == "the host is missing");
  CHECK(refused("etcd://:s3cret@db1") == "etcd has no password without a user");
  CHECK(refused("etcd://ann:s3cret@db1/x") == "nothing follows the hosts");
  CHECK(refused("etcd://ann:s3cret@db1?x=1") == "the URL has options, and etcd:// has none");
}

}  // namespace
}  // namespace dlock
