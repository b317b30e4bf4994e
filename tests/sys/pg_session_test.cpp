// SPDX-License-Identifier: MIT
#include "store/postgres/pg_session.hpp"

#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/fake_peer.hpp"
#include "support/fake_redis.hpp"
#include "support/has.hpp"
#include "support/pg_sessions.hpp"

namespace dlock {
namespace {

using test::ample;
using test::done;
using test::failed;
using test::FakePeer;
using test::has;
using test::one_value;
using test::read_until;
using test::server;
using test::session;
using test::session_of;
using test::soon;
using test::write_all;

TEST_CASE("pg: several statements travel as one transaction, and each has its answer") {
  PgSession one = session();
  CHECK(one.backend_pid() == 0);
  const Time before = BootClock::now();
  const auto answers = done(one,
                            {{"create temp table t (k text, v text)"},
                             {"insert into t values ($1, $2), ($3, $4)", {"a", "1", "b", {}}},
                             {"select v, k from t order by k"},
                             {"delete from t where k = $1", {"c"}},
                             {"select 7 where false"}});
  CHECK(one.sent_at() > before);
  CHECK(one.sent_at() < BootClock::now());
  REQUIRE(answers.size() == 5);
  CHECK(answers[1].affected == 2);
  CHECK(answers[1].rows.empty());
  CHECK(answers[2].rows == std::vector<std::vector<sql::Value>>{{"1", "a"}, {{}, "b"}});
  CHECK(answers[3].affected == 0);
  CHECK(answers[4].rows.empty());
  CHECK(one_value(one, "select pg_backend_pid()") == std::to_string(one.backend_pid()));
}

TEST_CASE("pg: an error in the middle undoes what was before it, and the session goes on") {
  PgSession one = session();
  done(one, {{"create temp table t (k int primary key)"}});
  const int pid = one.backend_pid();
  for (const bool said : {false, true}) {
    CAPTURE(said);
    std::vector<sql::Statement> all{{"insert into t values (1)"}, {"select 1 / 0"}, {"select 2"}};
    if (said) all.insert(all.begin(), {"begin"});
    if (said) all.push_back({"commit"});
    const Error error = failed(one, all);
    CHECK(error.code == Errc::refused);
    CHECK(error.text == one.where() + " says: division by zero");
    CHECK(one.failure().sqlstate == "22012");
    CHECK(one.failure().cause == sql::Cause::other);
    CHECK(one_value(one, "select count(*) from t") == "0");
    CHECK(one.failure().sqlstate.empty());
  }
  CHECK(one.backend_pid() == pid);
}

TEST_CASE("pg: a transaction goes on over two runs, and never on another connection") {
  PgSession one = session();
  PgSession other = session();
  done(other, {{"drop table if exists two_runs"}, {"create table two_runs (v int)"}});
  done(one, {{"begin"}, {"insert into two_runs values (1)"}});
  CHECK(one_value(other, "select count(*) from two_runs") == "0");
  done(one, {{"commit"}});
  CHECK(one_value(other, "select count(*) from two_runs") == "1");

  done(one, {{"begin"}, {"insert into two_runs values (2)"}});
  done(other,
       {{"select pg_terminate_backend($1::int, 5000)", {std::to_string(one.backend_pid())}}});
  const Error error = failed(one, {{"insert into two_runs values (3)"}, {"commit"}});
  CHECK(error.code == Errc::unavailable);
  CHECK(one_value(other, "select count(*) from two_runs") == "1");
  CHECK(one_value(one, "select count(*) from two_runs") == "1");
}

TEST_CASE("pg: a login by password, and a wrong one") {
  PgSession ann = session_of(server().url("ann:s3cret"));
  CHECK(one_value(ann, "select current_user") == "ann");
  for (const char* const user : {"ann:wr0ng", "eve:s3cret"}) {
    PgSession wrong = session_of(server().url(user));
    const Error error = failed(wrong, {{"select 1"}});
    CHECK(error.code == Errc::denied);
    CHECK(has(error.text, wrong.where() + " says: "));
    CHECK_FALSE(has(error.text, "wr0ng"));
    CHECK_FALSE(has(error.text, "s3cret"));
    CHECK(wrong.failure().sqlstate.starts_with("28"));
    CHECK_FALSE(wrong.connected());
  }
  PgSession silent = session_of(server().url("ann"));
  const Error error = failed(silent, {{"select 1"}});
  CHECK(error.code == Errc::denied);
  CHECK(has(error.text, "it needs a password: set DLOCK_PASSWORD"));
}

TEST_CASE("pg: what a user may not do, and a database and a table that are not there") {
  done(*std::make_unique<PgSession>(session()), {{"create table if not exists closed (v int)"}});
  PgSession ann = session_of(server().url("ann:s3cret"));
  CHECK(failed(ann, {{"select * from closed"}}).code == Errc::denied);
  CHECK(failed(ann, {{"select * from not_there"}}).code == Errc::refused);
  CHECK(ann.failure().cause == sql::Cause::no_table);
  PgSession nowhere = session_of("postgresql://postgres@/nowhere?host=" + server().directory() +
                                 server().socket_url().substr(server().socket_url().find('&')));
  const Error error = failed(nowhere, {{"select 1"}});
  CHECK(error.code == Errc::refused);
  CHECK(error.text == nowhere.where() + " says: database \"nowhere\" does not exist");
}

TEST_CASE("pg: two transactions that collide: one is undone and may be repeated") {
  PgSession one = session();
  PgSession other = session();
  done(one, {{"drop table if exists c"}, {"create table c (v int)"}, {"insert into c values (0)"}});
  for (PgSession* const each : {&one, &other})
    done(*each, {{"begin isolation level serializable"}, {"select v from c"}});
  done(one, {{"update c set v = v + 1"}, {"commit"}});
  const Error error = failed(other, {{"update c set v = v + 1"}, {"commit"}});
  CHECK(error.code == Errc::unavailable);
  CHECK(other.failure().sqlstate == "40001");
  CHECK(other.failure().cause == sql::Cause::repeat);
  done(other, {{"update c set v = v + 1"}});
  CHECK(one_value(one, "select v from c") == "2");
}

TEST_CASE("pg: a statement whose client does not wait for it ends at its own limit") {
  PgSession one = session();
  const Error error = failed(one, {{"set local statement_timeout = 50"}, {"select pg_sleep(20)"}});
  CHECK(error.code == Errc::timed_out);
  CHECK(one.failure().sqlstate == "57014");
  CHECK(one.connected());
  const Time now = BootClock::now();
  CHECK(statement_timeout_ms(now + std::chrono::microseconds(2500), now) == 2);
  CHECK(statement_timeout_ms(now, now + std::chrono::hours(1)) == 1);
}

TEST_CASE("pg: a limit and an interrupt end a run, and its late answer is never taken") {
  const WakeUp interrupt;
  PgSession one = session_of(server().socket_url(), &interrupt);
  done(one, {{"select 1"}});
  const Error late = failed(one, {{"select pg_sleep(2)"}, {"select 1"}}, soon());
  CHECK(late.code == Errc::timed_out);
  CHECK(has(late.text, "no answer from " + one.where() + " within"));
  CHECK_FALSE(one.connected());
  CHECK(one_value(one, "select 2") == "2");

  std::thread raiser([&] {
    ::poll(nullptr, 0, 50);
    interrupt.raise();
  });
  const Error ended = failed(one, {{"select pg_sleep(2)"}});
  raiser.join();
  CHECK(ended.code == Errc::cancelled);
  CHECK(ended.text == "stopped waiting for " + one.where());
  interrupt.clear();
  CHECK(one_value(one, "select 3") == "3");
}

TEST_CASE("pg: a notification ends the wait for it") {
  const WakeUp interrupt;
  PgSession one = session_of(server().socket_url(), &interrupt);
  PgSession other = session();
  CHECK(one.await_notification(soon()).error().code == Errc::unavailable);
  done(one, {{"listen dlock_a"}, {"listen dlock_b"}});
  const auto none = one.await_notification(soon());
  REQUIRE(none.has_value());
  CHECK_FALSE(*none);

  done(other, {{"notify dlock_b"}, {"select pg_notify('dlock_a', 'x')"}});
  const auto some = one.await_notification(ample());
  REQUIRE(some.has_value());
  CHECK(*some);
  CHECK(one.take_notifications() == std::vector<std::string>{"dlock_b", "dlock_a"});

  done(other, {{"notify dlock_a"}});
  done(one, {{"select pg_sleep(0.05)"}});
  done(one, {{"select 1"}});
  CHECK(one.await_notification(ample()).has_value());
  CHECK(one.take_notifications() == std::vector<std::string>{"dlock_a"});

  interrupt.raise();
  CHECK(one.await_notification(ample()).error().code == Errc::cancelled);
  CHECK(one.connected());
}

TEST_CASE("pg: a server that ends in the middle; when it is back the next run goes through") {
  PgSession busy = session();
  PgSession idle = session_of(server().url("ann:s3cret"));
  done(idle, {{"listen dlock_a"}});
  std::thread killer([] {
    ::poll(nullptr, 0, 100);
    server().kill();
  });
  const Error error = failed(busy, {{"select pg_sleep(20)"}});
  killer.join();
  CHECK(error.code == Errc::unavailable);
  CHECK_FALSE(busy.connected());
  CHECK(idle.await_notification(ample()).error().code == Errc::unavailable);
  const Error gone = failed(busy, {{"select 1"}});
  CHECK(gone.code == Errc::not_listening);
  CHECK(has(gone.text, "cannot reach " + busy.where() + ": "));
  CHECK(failed(idle, {{"select 1"}}).text ==
        "cannot reach " + idle.where() + ": connection refused");
  REQUIRE(server().start().has_value());
  CHECK(one_value(busy, "select 1") == "1");
  CHECK(one_value(idle, "select 1") == "1");
}

TEST_CASE("pg: a server that may not write is passed over, and there is none after it") {
  PgSession admin = session();
  done(admin, {{"alter role ann set default_transaction_read_only = on"}});
  PgSession ann = session_of(server().url("ann:s3cret"));
  const Error error = failed(ann, {{"select 1"}});
  CHECK(error.code == Errc::refused);
  CHECK(has(error.text, "this is a replica, or writing is switched off"));
  const test::DeafPort deaf;
  std::string url = server().url("ann:s3cret");
  url.insert(url.find("127.0.0.1"), "localhost:" + std::to_string(deaf.port) + ",");
  PgSession two = session_of(url);
  const Error both = failed(two, {{"select 1"}});
  CHECK(both.code == Errc::unavailable);
  CHECK(has(both.text, ": connection refused; 127.0.0.1:"));
  done(admin, {{"alter role ann reset default_transaction_read_only"}});
  CHECK(one_value(two, "select 1") == "1");
  // A server that becomes a replica says so at the first write.
  const Error turned = failed(ann, {{"set transaction read only"}, {"create table x (v int)"}});
  CHECK(turned.code == Errc::refused);
  CHECK(ann.failure().sqlstate == "25006");
  CHECK_FALSE(ann.connected());
}

TEST_CASE("pg: a host that is not known, and one that keeps silent") {
  PgSession unknown = session_of("postgresql://no-such-host.invalid/d");
  const Error error = failed(unknown, {{"select 1"}}, soon() + std::chrono::seconds(2));
  CHECK((error.code == Errc::no_such_host || error.code == Errc::unavailable ||
         error.code == Errc::timed_out));
  CHECK(has(error.text, "cannot reach postgresql://no-such-host.invalid:5432/d: "));

  const FakePeer peer;
  PgSession silent = session_of("postgresql://127.0.0.1:" + std::to_string(peer.port()) + "/d");
  const Time before = BootClock::now();
  const Error late = failed(silent, {{"select 1"}}, soon());
  CHECK(late.code == Errc::timed_out);
  CHECK(has(late.text, "cannot reach " + silent.where() + ": no answer within "));
  CHECK(BootClock::now() < before + std::chrono::seconds(5));

  const WakeUp interrupt;
  interrupt.raise();
  PgSession ended =
      session_of("postgresql://127.0.0.1:" + std::to_string(peer.port()) + "/d", &interrupt);
  CHECK(failed(ended, {{"select 1"}}).code == Errc::cancelled);
}

TEST_CASE("N18: pg: a host that keeps silent is passed over in its share of the time") {
  const FakePeer silent;
  std::string url = server().url("ann:s3cret");
  url.insert(url.find('@') + 1, "127.0.0.1:" + std::to_string(silent.port()) + ",");
  PgSession one = session_of(url);
  CHECK(one.run({{"select 1"}}, BootClock::now() + std::chrono::seconds(4)).has_value());
}

TEST_CASE("pg: what is no PostgreSQL is told so") {
  for (const char* const mode : {"disable", "prefer", "require"}) {
    CAPTURE(mode);
    const FakePeer peer;
    std::thread other([&] {
      const UniqueFd client = peer.accept();
      write_all(client, "-ERR unknown command\r\n");
      read_until(client, "");
    });
    PgSession wrong =
        session_of("postgresql://127.0.0.1:" + std::to_string(peer.port()) + "/d?sslmode=" + mode);
    const Error error = failed(wrong, {{"select 1"}});
    wrong.disconnect();
    other.join();
    CHECK(error.code == Errc::protocol);
    CHECK(error.text == "cannot reach " + wrong.where() + ": it does not speak as PostgreSQL does");
  }
}

TEST_CASE("pg: a URL of Redis at its port is told at the second try that PostgreSQL is there") {
  std::string at = server().url("ann:s3cret");
  at = at.substr(at.find('@') + 1);
  RedisClient wrong = test::client_of("redis://" + at.substr(0, at.find('/')));
  CHECK_FALSE(wrong.call({"PING"}, ample()).has_value());  // an answer that was lost, perhaps
  const auto answer = wrong.call({"PING"}, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::protocol);
  CHECK(answer.error().text == wrong.where() + " is PostgreSQL; is it postgresql:// ?");
}

TEST_CASE("pg: TLS is used where there is TLS, and verified if it is asked for") {
  const std::string query = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
  PgSession usual = session_of(server().url("tls:s3cret"));
  CHECK(one_value(usual, query) == "t");
  PgSession plain = session_of(server().url("ann:s3cret") + "?sslmode=disable");
  CHECK(one_value(plain, query) == "f");

  TlsSettings trusting;
  trusting.cacert = server().ca_file();
  PgSession right = session_of(server().url("tls:s3cret", "localhost"), nullptr, trusting);
  CHECK(one_value(right, query) == "t");
  PgSession numeric = session_of(server().url("tls:s3cret"), nullptr, trusting);
  const Error error = failed(numeric, {{"select 1"}});
  CHECK(error.code == Errc::protocol);
  CHECK(has(error.text, "does not match host name"));
  trusting.sni = "localhost";
  PgSession renamed = session_of(server().url("tls:s3cret"), nullptr, trusting);
  CHECK(one_value(renamed, query) == "t");

  PgSession distrusting =
      session_of(server().url("tls:s3cret", "localhost") + "?sslmode=verify-full");
  const Error stranger = failed(distrusting, {{"select 1"}});
  CHECK(stranger.code == Errc::protocol);
  CHECK(has(stranger.text, "not signed by a trusted CA"));
  TlsSettings careless;
  careless.insecure = true;
  PgSession any = session_of(server().url("tls:s3cret"), nullptr, careless);
  CHECK(one_value(any, query) == "t");
  TlsSettings missing;
  missing.cacert = server().directory() + "/no-file";
  PgSession without = session_of(server().url("tls:s3cret", "localhost"), nullptr, missing);
  CHECK(failed(without, {{"select 1"}}).code == Errc::bad_config);
}

TEST_CASE("pg: a text with a NUL byte is never cut") {
  PgSession one = session();
  CHECK(failed(one, {{"select $1", {std::string("a\0b", 3)}}}).code == Errc::bad_usage);
  CHECK_FALSE(one.connected());
}

TEST_CASE("pg: a large question and a large answer arrive") {
  PgSession one = session();
  const std::string large(1'500'000, 'x');
  const auto answers = done(one, {{"select $1::text", {large}}, {"select $1::text", {large}}});
  CHECK(answers[0].rows[0][0] == large);
  CHECK(answers[1].rows[0][0] == large);
}

}  // namespace
}  // namespace dlock
