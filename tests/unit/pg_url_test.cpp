// SPDX-License-Identifier: MIT
#include "store/postgres/pg_url.hpp"

#include "store/postgres/pg_parameters.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/has.hpp"

namespace dlock {
namespace {

using test::has;

PgAddress parsed(std::string_view url) {
  auto address = parse_pg_url(url);
  CAPTURE(url);
  CAPTURE((address ? "" : address.error().text));
  REQUIRE(address.has_value());
  return std::move(*address);
}

std::string refused(std::string_view url) {
  const auto address = parse_pg_url(url);
  CAPTURE(url);
  REQUIRE_FALSE(address.has_value());
  CHECK(address.error().code == Errc::bad_usage);
  return address.error().text;
}

std::string servers_of(const PgAddress& address) {
  std::string text;
  for (const PgServer& one : address.servers)
    text += (text.empty() ? "" : " ") + one.host + "|" + std::to_string(one.port);
  return text;
}

TEST_CASE("pg url: host, port, database, user and password are separated") {
  const auto address = parsed("postgresql://ann:s3cret@DB1.example.org:7000/app");
  CHECK(servers_of(address) == "db1.example.org|7000");
  CHECK(address.user == "ann");
  CHECK(address.password.reveal() == "s3cret");
  CHECK(address.database == "app");
  CHECK(address.table == "dlock");
  CHECK_FALSE(address.tls.has_value());
  CHECK(address.text == "postgresql://db1.example.org:7000/app");
}

TEST_CASE("pg url: what is not said is as in libpq") {
  CHECK(parsed("postgres://db1").text == "postgresql://db1:5432/");
  CHECK(parsed("postgresql://[fe80::1%25eth0]").text == "postgresql://[fe80::1%25eth0]:5432/");
  CHECK(parsed("postgresql://db1/").user.empty());
  CHECK(servers_of(parsed("postgresql:///app")) == "/var/run/postgresql|5432");
  CHECK(parsed("postgresql://").database.empty());
}

TEST_CASE("pg url: several hosts, each with its port") {
  CHECK(servers_of(parsed("postgresql://a,b:7,[::1]:8,[::2]/d")) == "a|5432 b|7 ::1|8 ::2|5432");
  CHECK(parsed("postgresql://u@a,[::1]/d").text == "postgresql://a:5432,[::1]:5432/d");
  CHECK(servers_of(parsed("postgresql:///d?host=a,b&port=7")) == "a|7 b|7");
}

TEST_CASE("pg url: a unix socket, by its directory") {
  CHECK(servers_of(parsed("postgresql:///d?host=/run/pg")) == "/run/pg|5432");
  CHECK(servers_of(parsed("postgresql://u:p@/d?host=%2Frun%2Fpg&port=7")) == "/run/pg|7");
  CHECK(servers_of(parsed("postgresql://%2Frun%2Fpg/d")) == "/run/pg|5432");
  CHECK(parsed("postgresql://%2Frun%2Fpg/d").text == "postgresql:///d?host=/run/pg");
  CHECK(servers_of(parsed("postgresql://u@%2Frun%2Fpg:7/d")) == "/run/pg|7");
  const std::string two = parsed("postgresql://u@/d?host=/run/pg,/run/pg2&port=7").text;
  CHECK(servers_of(parsed(two)) ==
        servers_of(parsed("postgresql:///d?host=/run/pg,/run/pg2&port=7")));
  CHECK(parsed(two).text == two);
  CHECK(servers_of(parsed("postgresql://%2Frun%2Fpg:8,h:9/d?port=7")) == "/run/pg|8 h|9");
  const std::string text = parsed("postgresql:///d?host=/run/p%20g&port=7&table=a.b").text;
  CHECK(text == "postgresql:///d?host=/run/p%20g&port=7&table=a.b");
  CHECK(parsed(text).text == text);
}

TEST_CASE("pg url: user, password and database are decoded; a raw @ is a part of the password") {
  const auto address = parsed("postgresql://a%40b:p%2Fq@r@h/d%2fe");
  CHECK(address.user == "a@b");
  CHECK(address.password.reveal() == "p/q@r");
  CHECK(address.database == "d/e");
  CHECK(address.text == "postgresql://h:5432/d%2fe");
}

TEST_CASE("pg url: the options") {
  CHECK(parsed("postgresql://h/d?table=locks").text == "postgresql://h:5432/d?table=locks");
  CHECK(parsed("postgresql://h/d?table=app.locks&sslmode=verify-ca").tls == PgTls::verify_ca);
  CHECK(parsed("postgresql://h?sslmode=disable").tls == PgTls::disable);
  CHECK(has(refused("postgresql://h/d?locking=optimistic"), "no option locking"));
  CHECK(has(refused("postgresql://h/d?connect_timeout=3"), "no option connect_timeout"));
  CHECK(has(refused("postgresql://h/d?host=x"), "host twice"));
  CHECK(has(refused("postgresql://h/d?sslmode=allow"), "sslmode is one of"));
  for (const char* const table : {"", "A", "a-b", "1a", "a.b.c", ".a", "a.", "a;drop"})
    CHECK(has(refused("postgresql://h/d?table=" + std::string(table)), "a table consists of"));
  CHECK(has(refused("postgresql://h/d?table=" + std::string(59, 'a')), "at most 58"));
}

TEST_CASE("pg url: the lock of another program beside the row") {
  using Kind = WithOption::Kind;
  CHECK_FALSE(parsed("postgresql://h/d").with.has_value());
  const auto advisory = parsed("postgresql://h/d?with=advisory");
  CHECK(advisory.with->kind == Kind::advisory);
  CHECK_FALSE(advisory.with->key.has_value());
  CHECK(advisory.text == "postgresql://h:5432/d?with=advisory");
  CHECK(parsed("postgresql://h/d?with=advisory:-7").with->key == -7);
  CHECK(parsed("postgresql://h/d?with=advisory:-7").text ==
        "postgresql://h:5432/d?with=advisory:-7");
  const auto row = parsed("postgresql://h/d?table=l&with=row%3Aapp.locks.lock_name");
  CHECK(row.with->kind == Kind::row);
  CHECK(row.with->table == "app.locks");
  CHECK(row.with->column == "lock_name");
  CHECK(row.text == "postgresql://h:5432/d?table=l&with=row:app.locks.lock_name");
  for (const char* const with : {"",
                                 "x",
                                 "get_lock",
                                 "advisory:",
                                 "advisory:x",
                                 "advisory:1x",
                                 "advisory:9223372036854775808",
                                 "advisoryx",
                                 "row",
                                 "row:",
                                 "row:a",
                                 "row:a.",
                                 "row:.a",
                                 "row:a.b.c.d",
                                 "row:A.b",
                                 "row:a.b;drop"})
    CHECK(has(refused("postgresql://h/d?with=" + std::string(with)),
              "with= is row:TABLE.COLUMN, advisory or advisory:NUMBER"));
}

TEST_CASE("pg url: what is wrong is told, and never quoted") {
  for (const char* const url : {"postgresql://u:s3cret@h:p/d",
                                "postgresql://u:s3cret@h:0/d",
                                "postgresql://u:s3cret@h/d/e",
                                "postgresql://u:s3cret@h/d#x",
                                "postgresql://u:s3c?ret=1@h/d",
                                "postgresql://u:s3/cret@h/d",
                                "postgresql://u:s3 cret@h/d",
                                "postgresql://u:s3cret/d",
                                "postgresql://h/d?password=s3cret",
                                "postgresql://h/d?s3cret",
                                "postgresql://h/d?s3-cret=1",
                                "postgresql://u:s3cret@[::x]/d",
                                "postgresql://u:s3cret@h/d?port=0",
                                "postgresql://u%00:s3cret@h/d",
                                "mysql://u:s3cret@h/d"}) {
    const std::string text = refused(url);
    CAPTURE(text);
    CHECK_FALSE(has(text, "s3"));
    CHECK_FALSE(has(text, "cret"));
  }
  CHECK(has(refused("postgresql:///d?host=/" + std::string(100, 'x')), "at most 92 bytes"));
}

std::string value_of(const std::vector<PgParameter>& all, std::string_view name) {
  for (const PgParameter& one : all)
    if (name == one.name) return one.value;
  return "none";
}

std::string mode_of(std::string_view url, const TlsSettings& settings) {
  const PgAddress address = parsed(url);
  const auto all = pg_parameters(address, address.servers.front(), "127.0.0.1", settings);
  if (all) return value_of(*all, "sslmode") + " " + value_of(*all, "sslrootcert");
  CHECK(all.error().code == Errc::bad_config);
  return all.error().text;
}

TEST_CASE("pg parameters: how much TLS, from the URL and the settings") {
  const std::string none = " /dev/null/none";
  TlsSettings ca;
  ca.cacert = "/ca";
  TlsSettings careless;
  careless.insecure = true;
  for (const char* const here : {"localhost", "127.0.0.1", "127.8.9.1", "[::1]"})
    CHECK(mode_of(std::string("postgresql://") + here, {}) == "prefer" + none);
  for (const char* const beyond : {"h", "127.evil.example", "10.0.0.1", "localhost.example"})
    CHECK(mode_of(std::string("postgresql://") + beyond, {}).starts_with("verify-full "));
  CHECK(mode_of("postgresql://h?sslmode=require", {}) == "require" + none);
  CHECK(mode_of("postgresql://h?sslmode=disable", {}) == "disable" + none);
  CHECK(mode_of("postgresql://h", ca) == "verify-full /ca");
  CHECK(mode_of("postgresql://h?sslmode=verify-ca", ca) == "verify-ca /ca");
  CHECK(mode_of("postgresql://h?sslmode=require", ca) == "require /ca");
  CHECK(mode_of("postgresql://h", careless) == "require" + none);
  CHECK(has(mode_of("postgresql://h?sslmode=disable", ca), "contradicts"));
  CHECK(has(mode_of("postgresql://h?sslmode=prefer", ca), "contradicts"));
  CHECK(has(mode_of("postgresql://h?sslmode=verify-full", careless), "--insecure contradicts"));
  CHECK(mode_of("postgresql:///d", ca) == "disable" + none);
  CHECK(has(mode_of("postgresql:///d?sslmode=require", {}), "a unix socket has no TLS"));
  ca.cacert.clear();
  ca.cacertdir = "/d";
  CHECK(has(mode_of("postgresql://h", ca), "cannot use --cacertdir"));
}

TEST_CASE("pg parameters: no file of libpq is read, and each value is said") {
  const PgAddress address = parsed("postgresql://ann:s3cret@h");
  TlsSettings settings;
  settings.sni = "db1";
  settings.insecure = true;
  const auto all = pg_parameters(address, address.servers.front(), "127.0.0.1", settings);
  REQUIRE(all.has_value());
  for (const PgParameter& one : *all)
    CHECK_FALSE(one.value.empty());
  for (const char* const file : {"passfile", "sslrootcert", "sslcert", "sslkey", "sslcrl"})
    CHECK(value_of(*all, file) == "/dev/null/none");
  CHECK(value_of(*all, "host") == "db1");
  CHECK(value_of(*all, "hostaddr") == "127.0.0.1");
  CHECK(value_of(*all, "dbname") == "ann");
  CHECK(value_of(*all, "password") == "s3cret");
  CHECK(value_of(*all, "gssencmode") == "disable");
}

}  // namespace
}  // namespace dlock
