// SPDX-License-Identifier: MIT
#include "store/redis/redis_url.hpp"

#include <doctest/doctest.h>

#include <string>

namespace dlock {
namespace {

RedisAddress parsed(std::string_view url) {
  auto address = parse_redis_url(url);
  CAPTURE(url);
  REQUIRE(address.has_value());
  return std::move(*address);
}

std::string refused(std::string_view url) {
  const auto address = parse_redis_url(url);
  CAPTURE(url);
  REQUIRE_FALSE(address.has_value());
  CHECK(address.error().code == Errc::bad_usage);
  return address.error().text;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a host alone gets Redis' port and database 0") {
  const auto address = parsed("redis://db1");
  CHECK(address.endpoint.host == "db1");
  CHECK(address.endpoint.port == 6379);
  CHECK(address.endpoint.socket_path.empty());
  CHECK(address.db == 0);
  CHECK(address.user.empty());
  CHECK(address.password.empty());
  CHECK(address.text == "redis://db1:6379/0");
}

TEST_CASE("host, port, database, user and password are separated") {
  const auto address = parsed("redis://ann:s3cret@db1.example.org:7000/12");
  CHECK(address.endpoint.host == "db1.example.org");
  CHECK(address.endpoint.port == 7000);
  CHECK(address.db == 12);
  CHECK(address.user == "ann");
  CHECK(address.password.reveal() == "s3cret");
}

TEST_CASE("the canonical text has neither user nor password") {
  CHECK(parsed("redis://ann:s3cret@db1/3").text == "redis://db1:6379/3");
  CHECK(parsed("redis+unix://ann:s3cret@/run/r.sock").text == "redis+unix:///run/r.sock?db=0");
}

TEST_CASE("two spellings of one address have one canonical text") {
  CHECK(parsed("redis://DB1").text == parsed("redis://db1:6379/0").text);
  CHECK(parsed("redis://db1/").text == parsed("redis://db1/0").text);
  CHECK(parsed("redis+unix:///run/r.sock").text == parsed("redis+unix:///run/r.sock?db=0").text);
}

TEST_CASE("a password may come without a user, and a user without a password") {
  const auto no_user = parsed("redis://:s3cret@db1");
  CHECK(no_user.user.empty());
  CHECK(no_user.password.reveal() == "s3cret");
  const auto no_password = parsed("redis://ann@db1");
  CHECK(no_password.user == "ann");
  CHECK(no_password.password.empty());
}

TEST_CASE("user and password are percent-decoded, and only once") {
  const auto address = parsed("redis://a%3Ab:p%40%2F%2525@db1");
  CHECK(address.user == "a:b");
  CHECK(address.password.reveal() == "p@/%25");
}

TEST_CASE("a raw @ or : in a password belongs to the password") {
  CHECK(parsed("redis://ann:p@ss@db1").password.reveal() == "p@ss");
  CHECK(parsed("redis://ann:p:ss@db1").password.reveal() == "p:ss");
}

TEST_CASE("an IPv6 address is in brackets, with and without a port") {
  const auto address = parsed("redis://[::1]:7000/1");
  CHECK(address.endpoint.host == "::1");
  CHECK(address.endpoint.port == 7000);
  CHECK(address.text == "redis://[::1]:7000/1");
  CHECK(parsed("redis://:pw@[2001:DB8::5]").text == "redis://[2001:db8::5]:6379/0");
}

TEST_CASE("a link-local address has its interface, however that is written") {
  for (const char* const host : {"[FE80::1%25eth0.Lan]", "[fe80::1%eth0.Lan]"}) {
    const auto address = parsed("redis://:pw@" + std::string(host) + ":7000");
    CHECK(address.endpoint.host == "fe80::1%eth0.Lan");
    CHECK(address.text == "redis://[fe80::1%25eth0.Lan]:7000/0");
  }
  for (const char* const host : {"[fe80::1%]",
                                 "[fe80::1%25]",
                                 "[fe80::1%a/b]",
                                 "[fe80::1%25a%2f]",
                                 "[fe80::1%0123456789abcdef]",
                                 "h%25eth0"}) {
    CAPTURE(host);
    CHECK_FALSE(parse_redis_url("redis://" + std::string(host)).has_value());
  }
}

TEST_CASE("a unix socket has a path, a database and perhaps a user and password") {
  const auto address = parsed("redis+unix://ann:s3%63ret@/run/redis/redis.sock?db=4");
  CHECK(address.endpoint.socket_path == "/run/redis/redis.sock");
  CHECK(address.db == 4);
  CHECK(address.user == "ann");
  CHECK(address.password.reveal() == "s3cret");
  CHECK(address.text == "redis+unix:///run/redis/redis.sock?db=4");
  CHECK(parsed("redis+unix:///run/a@b/r.sock").endpoint.socket_path == "/run/a@b/r.sock");
}

TEST_CASE("a path with unusual bytes has a text that leads back to it") {
  const auto address = parsed("redis+unix:///run/a%3Fb%20c.sock");
  CHECK(address.endpoint.socket_path == "/run/a?b c.sock");
  CHECK(parsed(address.text).endpoint.socket_path == "/run/a?b c.sock");
}

TEST_CASE("a port that is no port is refused") {
  for (const char* url : {"redis://h:",
                          "redis://h:x",
                          "redis://h:0",
                          "redis://h:65536",
                          "redis://h:-1",
                          "redis://h:+1",
                          "redis://h:99999999999",
                          "redis://[::1]x",
                          "redis://[::1]:"}) {
    CHECK(contains(refused(url), "port"));
  }
  CHECK(parsed("redis://h:65535").endpoint.port == 65535);
}

TEST_CASE("a database that is no database is refused") {
  for (const char* url : {"redis://h/x",
                          "redis://h/-1",
                          "redis://h/2147483648",
                          "redis://h/1/",
                          "redis://h/0x1",
                          "redis://h//",
                          "redis+unix:///s?db=",
                          "redis+unix:///s?db=-1"}) {
    CHECK(contains(refused(url), "database"));
  }
  CHECK(parsed("redis://h/2147483647").db == 2147483647);
}

TEST_CASE("a missing host or path is said to be missing") {
  for (const char* url : {"redis://",
                          "redis:///0",
                          "redis://:6379",
                          "redis://a:b@",
                          "redis://a:b@/0",
                          "redis://[]",
                          "redis+unix://",
                          "redis+unix://a:b@",
                          "redis+unix:///",
                          "redis+unix:///?db=1"}) {
    CHECK(contains(refused(url), "missing"));
  }
}

TEST_CASE("rediss:// is the same with TLS") {
  const auto address = parse_redis_url("rediss://ann:s@H:6380/2");
  REQUIRE(address.has_value());
  CHECK(address->text == "rediss://h:6380/2");
  CHECK(address->endpoint.tls != nullptr);
  CHECK(address->endpoint.port == 6380);
  CHECK(address->db == 2);
  CHECK(parse_redis_url("redis://h")->endpoint.tls == nullptr);
}

TEST_CASE("a URL with an unknown part is refused") {
  for (const char* url : {"",
                          "redis:",
                          "redis:/h",
                          "rediss://h?ssl_cert_reqs=none",
                          "rediss://h#insecure",
                          "http://h",
                          "Redis://h",
                          " redis://h",
                          "redis://h ",
                          "redis://h\n",
                          "redis://h?db=1",
                          "redis://h/0?x",
                          "redis://h#x",
                          "redis://h/0#x",
                          "redis://h!",
                          "redis://a b",
                          "redis://[::1",
                          "redis://[h]",
                          "redis://::1",
                          "redis://::1:6379",
                          "redis://h]",
                          "redis://h%20",
                          "redis+unix://run/s",
                          "redis+unix://h:1/s",
                          "redis+unix:///s?d=1",
                          "redis+unix:///s#x",
                          "redis+unix:///s%00"}) {
    CHECK_FALSE(refused(url).empty());
  }
  CHECK_FALSE(refused("redis+unix:///" + std::string(107, 's')).empty());
  CHECK(parsed("redis+unix:///" + std::string(106, 's')).endpoint.socket_path.size() == 107);
}

TEST_CASE("no error repeats any part of the URL, for it may be the password") {
  for (const char* url : {"redis://:hunter2",
                          "redis://ann:hunter2",
                          "redis://ann:hunter2@",
                          "redis://:hunter2@/0",
                          "redis://:hunter2@h:x",
                          "redis://:hunter2@h/hunter2",
                          "redis://ann:hun/hunter2@h",
                          "redis://ann:hun?hunter2@h",
                          "redis+unix://:hunter2/s",
                          "redis+unix://hunter2",
                          "redis+unix://:hunter2@/s?hunter2",
                          "redis://h/0?password=hunter2",
                          "redis://[hunter2]",
                          "redis://:hunter2@h:1:2",
                          "rediss://h?password=hunter2"}) {
    CHECK_FALSE(contains(refused(url), "hunter2"));
  }
}

}  // namespace
}  // namespace dlock
