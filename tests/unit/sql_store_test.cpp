// SPDX-License-Identifier: MIT
// SqlStore in a dialect of SQLite, in memory: which messages a step sends, and which conditions a
// write has if the step did not read the row.
#include "store/sql/sql_store.hpp"

#include <doctest/doctest.h>

#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "lease_words.hpp"

namespace dlock::lease_table {

namespace {

std::vector<std::string> tables(const std::string& table) {
  return {"create table " + table +
              " (name text primary key, lock_until, locked_at, locked_by, token default 0, version "
              "default 0, state default '')",
          "create table " + table +
              "_line (name, arrival, waiter, alive_until, who, primary key (name, arrival))"};
}

constexpr sql::Dialect k_dialect{
    .tables = &tables,
    .state_column = "text",
    .own_columns = "select 0",
    .clock = "select us from clock",
    .now = "(select us from clock)",
    .time_of = [](std::int64_t us) { return std::to_string(us); },
    .select_time = [](const std::string& column) { return column; },
    .us_in = &sql::number_in,
    .unfit = "''",
    .equals = " = ",
    .is_greater = " > ",
    .locks_rows = "",
    .keeps_row = " on conflict (name) do nothing",
    .put = "replace",
    .put_end = "",
};

// A database that several stores share.
class Server {
 public:
  Server() {
    sqlite3* db = nullptr;
    REQUIRE(sqlite3_open(":memory:", &db) == SQLITE_OK);
    db_.reset(db);
    carry_out({"create table clock (us)"});
    carry_out({"insert into clock values (" + std::to_string(k_wall_us) + ")"});
  }

  sql::Answer carry_out(const sql::Statement& statement) {
    sqlite3_stmt* prepared = nullptr;
    const int made = sqlite3_prepare_v2(db_.get(), statement.text.c_str(), -1, &prepared, nullptr);
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> end(prepared,
                                                                         &sqlite3_finalize);
    const std::string said = sqlite3_errmsg(db_.get());
    failed = made != SQLITE_OK && said.find("no such table") != std::string::npos;
    cause = failed ? sql::Cause::no_table : sql::Cause::other;
    if (failed) return {};
    CAPTURE(statement.text);
    REQUIRE(said == "not an error");
    for (std::size_t i = 0; i < statement.parameters.size(); ++i) {
      const int at = sqlite3_bind_parameter_index(prepared, ("$" + std::to_string(i + 1)).c_str());
      sqlite3_bind_text(prepared, at, statement.parameters[i]->c_str(), -1, SQLITE_STATIC);
    }
    sql::Answer answer;
    int done = SQLITE_DONE;
    while ((done = sqlite3_step(prepared)) == SQLITE_ROW) {
      sql::Values& row = answer.rows.emplace_back();
      for (int i = 0; i < sqlite3_column_count(prepared); ++i) {
        const auto* const text = sqlite3_column_text(prepared, i);
        if (text == nullptr) row.emplace_back();
        if (text != nullptr) row.emplace_back(reinterpret_cast<const char*>(text));  // NOLINT
      }
    }
    failed = done != SQLITE_DONE;
    if (failed) cause = sql::Cause::exists;
    answer.affected = sqlite3_changes(db_.get());
    return answer;
  }
  std::string value_of(const std::string& text) {
    const auto answer = carry_out({text});
    REQUIRE(answer.rows.size() == 1);
    return answer.rows.front().front().value_or("NULL");
  }
  bool in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }

  sql::Cause cause = sql::Cause::other;
  bool failed = false;  // the newest statement, for that cause

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  std::unique_ptr<sqlite3, Close> db_;
};

class TestStore final : public SqlStore {
 public:
  explicit TestStore(Server& server) : SqlStore(k_dialect, "dlock"), server_(server) {}

  std::string where() const override { return "sql"; }

  int messages = 0;
  Duration answer_takes{};  // how long a message that begins a transaction takes
  bool updates_find_no_row = false;
  bool rang_after_commit = false;

 private:
  std::optional<sql::Statement> ring() override { return sql::Statement{"select 'ring'"}; }
  Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements,
                                       Scope scope,
                                       Uses,
                                       Time) override {
    ++messages;
    sent_at_ = BootClock::now() - (scope == Scope::begins ? answer_takes : Duration());
    if (scope == Scope::alone && server_.in_transaction()) server_.carry_out({"rollback"});
    if (scope == Scope::begins || scope == Scope::reads) server_.carry_out({"begin"});
    std::vector<sql::Answer> answers;
    for (const sql::Statement& one : statements) {
      rang_after_commit = one.text == "select 'ring'" && !server_.in_transaction();
      answers.push_back(server_.carry_out(one));
      if (server_.failed) {
        const sql::Cause why = server_.cause;
        if (server_.in_transaction()) server_.carry_out({"rollback"});
        server_.cause = why;
        return Error{Errc::refused, "a statement failed"};
      }
      if (updates_find_no_row && one.text.starts_with("update")) answers.back().affected = 0;
    }
    if (scope == Scope::reads) server_.carry_out({"commit"});
    return answers;
  }
  sql::Cause cause() const override { return server_.cause; }
  Time sent_at() const override { return sent_at_; }
  Result<void> watch_rows(const std::vector<LockName>&,
                          const std::vector<std::string>&,
                          Time) override {
    return {};
  }
  Result<bool> await_change(Time) override { return false; }

  Server& server_;
  Time sent_at_{};
};

const Time k_limit = Time::max();

Holds granted(TestStore& store, const Claim& claim) {
  const auto reply = store.acquire(claim, Queueing::no, k_limit);
  REQUIRE(reply);
  REQUIRE(std::holds_alternative<Grant>(*reply));
  return std::get<Grant>(*reply).holds;
}

}  // namespace

TEST_CASE("sql: a claim whose row was not written is an error") {
  Server server;
  TestStore store(server);
  store.updates_find_no_row = true;
  const auto reply = store.acquire(claim_of("p", "t"), Queueing::no, k_limit);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().text.find("stays as it was") != std::string::npos);
}

TEST_CASE("sql: a row that an index of another program refuses is an error, and is not repeated") {
  Server server;
  TestStore store(server);
  CHECK(*store.release(granted(store, claim_of("p", "t")), {}, k_limit) ==
        ReleaseVerdict::released);
  server.carry_out({"create unique index other on dlock (locked_by)"});
  store.messages = 0;
  Claim second = claim_of("q", "u");
  second.names = {name_of("b")};
  const auto reply = store.acquire(second, Queueing::no, k_limit);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().text == "a statement failed");
  CHECK(store.messages == 2);
}

TEST_CASE("sql: a release is one message if the row is as our newest step wrote it") {
  Server server;
  TestStore store(server);
  const Holds holds = granted(store, claim_of("p", "t"));
  store.messages = 0;
  SUBCASE("after the claim") {}
  SUBCASE("after a renewal") {
    CHECK(store.renew(holds, k_limit)->verdict == RenewVerdict::renewed);
    store.messages = 0;
  }
  SUBCASE("after a look that changed nothing") {
    CHECK(store.check(holds, k_limit)->verdict == RenewVerdict::held);
    store.messages = 0;
  }
  CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::released);
  CHECK(store.messages == 1);
  CHECK(server.value_of("select locked_by from dlock").empty());
  CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::not_held);
}

TEST_CASE("sql: a release reads the row if a claim waits, and the claim gets its turn") {
  Server server;
  TestStore store(server);
  TestStore other(server);
  const Holds holds = granted(store, claim_of("p", "t"));
  const auto refused = other.acquire(claim_of("q", "u"), Queueing::polling, k_limit);
  REQUIRE(std::holds_alternative<Refusal>(*refused));
  const std::string alive_until = server.value_of("select alive_until from dlock_line");
  store.messages = 0;
  CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::released);
  CHECK(store.messages == 3);
  CHECK(server.value_of("select alive_until from dlock_line") != alive_until);
}

TEST_CASE(
    "sql: a release or a leave that lets a waiter in rings after its commit, no other change") {
  Server server;
  TestStore store(server);
  TestStore second(server);
  TestStore third(server);
  const Holds holds = granted(store, claim_of("p", "t"));
  const Claim waits = claim_of("q", "u");
  (void)second.acquire(waits, Queueing::polling, k_limit).has_value();
  (void)third.acquire(claim_of("r", "v"), Queueing::polling, k_limit).has_value();
  CHECK_FALSE(third.rang_after_commit);
  CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::released);
  CHECK(store.rang_after_commit);
  CHECK(second.leave(waits, Queueing::polling, k_limit));
  CHECK(second.rang_after_commit);
}

TEST_CASE("sql: a release reads the row if another process wrote it") {
  Server server;
  TestStore store(server);
  TestStore other(server);
  SUBCASE("another reader has joined, and keeps its lease") {
    const Holds holds = granted(store, claim_as(Mode::shared, "p"));
    const Holds joined = granted(other, claim_as(Mode::shared, "q"));
    store.messages = 0;
    CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::released);
    CHECK(other.check(joined, k_limit)->verdict == RenewVerdict::held);
  }
  SUBCASE("the row was lost, and the next holder has the same host name and process number") {
    const Holds holds = granted(store, claim_of("p", "t"));
    server.carry_out({"delete from dlock"});
    const Holds next = granted(other, claim_of("q", "u"));
    store.messages = 0;
    CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::not_held);
    CHECK(other.check(next, k_limit)->verdict == RenewVerdict::held);
  }
  SUBCASE("ShedLock has the row, and keeps it") {
    const Holds holds = granted(store, claim_of("p", "t"));
    server.carry_out({"update dlock set locked_by = 'app1'"});
    store.messages = 0;
    CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::not_held);
    CHECK(server.value_of("select locked_by from dlock") == "app1");
  }
  CHECK(store.messages == 3);
}

TEST_CASE("sql: a release reads the row if the present time matters") {
  Server server;
  TestStore store(server);
  ReleaseOptions options;
  SUBCASE("the lease may have ended") {
    store.answer_takes = 10s;
  }
  SUBCASE("the lock is kept") {
    options.keep = 1s;
  }
  const Holds holds = granted(store, claim_of("p", "t"));
  store.messages = 0;
  CHECK(*store.release(holds, options, k_limit) == ReleaseVerdict::released);
  CHECK(store.messages == 2);
}

TEST_CASE("sql: a release reads the row if another lease of the row was renewed in between") {
  Server server;
  TestStore store(server);
  const Holds dead = granted(store, claim_as(Mode::shared, "p"));
  const Holds other = granted(store, claim_as(Mode::shared, "q"));
  server.carry_out({"update clock set us = us + 9999999"});
  store.answer_takes = 1us;  // the lease of ten seconds may be over when the answer is there
  CHECK(store.renew(other, k_limit)->verdict == RenewVerdict::renewed);
  server.carry_out({"update clock set us = us + 1"});
  store.messages = 0;
  CHECK(*store.release(dead, {}, k_limit) == ReleaseVerdict::not_held);
  CHECK(store.messages == 2);
  CHECK(*store.release(other, {}, k_limit) == ReleaseVerdict::released);
}

}  // namespace dlock::lease_table
