// SPDX-License-Identifier: MIT
#include "store/mysql/my_url.hpp"

#include "base/user_name.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/has.hpp"

namespace dlock {
namespace {

using test::has;

MyAddress my(std::string_view url, const TlsSettings& tls = {}) {
  auto address = parse_my_url(url, tls);
  CAPTURE(url);
  REQUIRE(address.has_value());
  return std::move(*address);
}

std::string my_refusal(std::string_view url, const TlsSettings& tls = {}) {
  const auto address = parse_my_url(url, tls);
  CAPTURE(url);
  REQUIRE_FALSE(address.has_value());
  CHECK(address.error().code == Errc::bad_usage);
  return address.error().text;
}

TEST_CASE("mysql: host and database alone get port 3306, our login name and the table dlock") {
  const MyAddress address = my("mysql://db1/locks");
  CHECK(address.endpoint.host == "db1");
  CHECK(address.endpoint.port == 3306);
  CHECK(address.endpoint.socket_path.empty());
  CHECK(address.user == user_name());
  CHECK(address.password.empty());
  CHECK(address.database == "locks");
  CHECK(address.table == "dlock");
  CHECK(address.text == "mysql://db1:3306/locks");
}

TEST_CASE("mysql: user, password, host, port, database and table are separated and decoded") {
  const MyAddress address = my("mariadb://ann:s%2F3@cret@DB1:3307/my%20locks?table=leases_2");
  CHECK(address.user == "ann");
  CHECK(address.password.reveal() == "s/3@cret");
  CHECK(address.endpoint.host == "db1");
  CHECK(address.endpoint.port == 3307);
  CHECK(address.database == "my locks");
  CHECK(address.table == "leases_2");
  CHECK(address.text == "mysql://db1:3307/my%20locks?table=leases_2");
  CHECK(my("mysql://[FE80::1]:1/d").text == "mysql://[fe80::1]:1/d");
}

TEST_CASE("mysql: a unix socket stands in the options, and its URL has no host") {
  const MyAddress address = my("mysql://ann@/locks?socket=/run/my%20sql/s%401.sock");
  CHECK(address.endpoint.socket_path == "/run/my sql/s@1.sock");
  CHECK(address.endpoint.host.empty());
  CHECK(address.endpoint.tls == nullptr);
  CHECK(address.user == "ann");
  CHECK(address.text == "mysql:///locks?socket=/run/my%20sql/s%401.sock");
  CHECK(has(my_refusal("mysql://ann@/locks"), "either a host or ?socket="));
  CHECK(has(my_refusal("mysql://db1/locks?socket=/s"), "either a host or ?socket="));
  CHECK(has(my_refusal("mysql:///locks?socket=s"), "begins with '/'"));
  CHECK(has(my_refusal("mysql:///locks?socket=/" + std::string(107, 'x')), "107 bytes"));
}

TEST_CASE("mysql: without ssl-mode another host must prove its name, this machine needs no TLS") {
  const auto tls = my("mysql://db1/d").endpoint.tls;
  REQUIRE(tls != nullptr);
  CHECK_FALSE(tls->insecure);
  CHECK_FALSE(tls->any_name);
  CHECK(my("mysql://localhost/d").endpoint.tls == nullptr);
  CHECK(my("mysql://127.0.0.1/d").endpoint.tls == nullptr);
  CHECK(my("mysql://[::1]/d").endpoint.tls == nullptr);
  TlsSettings said;
  said.cacert = "/ca.pem";
  REQUIRE(my("mysql://localhost/d", said).endpoint.tls != nullptr);
  CHECK(my("mysql://localhost/d", said).endpoint.tls->cacert == "/ca.pem");
}

TEST_CASE("mysql: ssl-mode says what is verified") {
  CHECK(my("mysql://db1/d?ssl-mode=disabled").endpoint.tls == nullptr);
  CHECK(my("mysql://db1/d?ssl-mode=required").endpoint.tls->insecure);
  CHECK(my("mysql://db1/d?ssl-mode=verify_ca").endpoint.tls->any_name);
  CHECK_FALSE(my("mysql://db1/d?ssl-mode=verify_identity").endpoint.tls->any_name);
  CHECK(my("mysql://localhost/d?ssl-mode=required").endpoint.tls->insecure);
  TlsSettings said;
  said.cacert = "/ca.pem";
  CHECK(has(my_refusal("mysql://db1/d?ssl-mode=disabled", said), "contradict"));
  CHECK(has(my_refusal("mysql:///d?socket=/s&ssl-mode=required"), "a unix socket has no TLS"));
  CHECK(has(my_refusal("mysql:///d?socket=/s", said), "a unix socket has no TLS"));
  CHECK(has(my_refusal("mysql://db1/d?ssl-mode=prefer"), "ssl-mode= is disabled, required"));
}

TEST_CASE("mysql: an unknown option is refused by its name") {
  CHECK(has(my_refusal("mysql://db1/d?timeout=3"),
            "no option timeout; there are socket, table, with, ssl-mode"));
  CHECK(has(my_refusal("mysql://db1/d?table="), "table= is a name"));
  CHECK(has(my_refusal("mysql://db1/d?table=a%60b"), "table= is a name"));
}

TEST_CASE("mysql: the lock of another program beside the row") {
  using Kind = WithOption::Kind;
  CHECK_FALSE(my("mysql://db1/d").with.has_value());
  CHECK(my("mysql://db1/d?with=get_lock").with->kind == Kind::get_lock);
  CHECK(my("mysql://db1/d?with=get_lock").text == "mysql://db1:3306/d?with=get_lock");
  const auto row = my("mysql://db1/d?with=row:Locks.lock_name");
  CHECK(row.with->table == "Locks");
  CHECK(row.with->column == "lock_name");
  CHECK(row.text == "mysql://db1:3306/d?with=row:Locks.lock_name");
  for (const char* const with :
       {"", "x", "advisory", "get_lock:a", "row:", "row:a", "row:a.", "row:a.b.c", "row:a.b`"})
    CHECK(has(my_refusal("mysql://db1/d?with=" + std::string(with)),
              "with= is get_lock or row:TABLE.COLUMN"));
}

TEST_CASE("mysql: what is missing or malformed is named") {
  CHECK(my("mysql://[fe80::1%25eth0]/d").text == "mysql://[fe80::1%25eth0]:3306/d");
  CHECK(has(my_refusal("postgres://db1/d"), "neither mysql:// nor mariadb://"));
  CHECK(has(my_refusal("mysql://db1"), "the database is missing"));
  CHECK(has(my_refusal("mysql://db1/"), "the database is missing"));
  CHECK(has(my_refusal("mysql://db1/a/b"), "written %2F"));
}

TEST_CASE("mysql: no error quotes a password, wherever it stands") {
  for (const char* const url : {"mysql://ann:s3cret",
                                "mysql://ann:s3cret@",
                                "mysql://ann:s3cret/x@db1/d",
                                "mysql://ann:s3cret@db1",
                                "mysql://ann:s3cret@db1:port/d",
                                "mysql://ann:s3cret@db1/d?table=s3cret-",
                                "mysql://ann:x?s3cret@db1/d",
                                "mysql://ann:x#s3cret@db1/d",
                                "mysql://ann:1/2?s3cret=5@db1/d",
                                "s3cret"}) {
    CHECK_FALSE(has(my_refusal(url), "s3cret"));
  }
}

}  // namespace
}  // namespace dlock
