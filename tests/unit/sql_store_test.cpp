// SPDX-License-Identifier: MIT
// SqlStore on a table in memory: which messages a step costs, and what a write checks that did not
// read its row before.
#include "store/sql/sql_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "lease_words.hpp"

namespace dlock::lease_table {

namespace {

class FakeSql final : public SqlStore {
 public:
  std::string where() const override { return "sql"; }

  // The only row, which several stores share.
  struct Server {
    std::optional<Row> row;
    std::int64_t now_us = k_wall_us;
  };
  explicit FakeSql(Server& server) : server_(server) {}

  int loads = 0;
  int writes = 0;
  Duration answer_takes{};    // until load() has its answer
  bool finds_no_row = false;  // when it writes

 private:
  Result<Rows> load(const std::vector<std::string>& names, Purpose, Time) override {
    REQUIRE(names.size() == 1);
    ++loads;
    Rows rows{.rows = {Row{.name = names[0], .state = {}}},
              .now_us = server_.now_us,
              .sent_at = BootClock::now() - answer_takes};
    if (server_.row) rows.rows = {*server_.row};
    return rows;
  }
  Result<void> make_rows(const std::vector<std::string>& names, Time) override {
    server_.row = Row{.name = names[0], .state = ""};
    return {};
  }
  Result<bool> write(const std::vector<Write>& all,
                     const std::vector<std::string>&,
                     Basis basis,
                     Time) override {
    ++writes;
    if (finds_no_row) return false;
    for (const Write& one : all) {
      Row& row = *server_.row;
      const bool by_memory = basis == Basis::remembered;
      const bool is_other =
          row.columns.locked_by != one.before->columns.locked_by || row.state != one.before->state;
      if (one.lock && row.version != one.before->version) return false;
      if (by_memory && (is_other || !row.line.empty())) return false;
      if (one.lock) {
        row.columns = one.columns;
        row.state = one.state;
        ++row.version;
      }
      for (const Place* place : one.line.gone)
        drop_place(row.line, place->id);
      for (const Place* place : one.line.written) {
        drop_place(row.line, place->id);
        row.line.push_back(*place);
      }
    }
    return true;
  }
  Result<void> make_tables(Time) override { return {}; }
  Result<Rows> load_behind(const std::string&, Time) override { return Rows{}; }
  Result<Rows> load_clock(Time) override { return Rows{.rows = {}, .now_us = server_.now_us}; }
  Cause cause() const override { return Cause::other; }
  const std::string& table() const override { return table_; }
  std::string missing_columns() const override { return ""; }
  Result<void> watch_rows(const std::vector<LockName>&,
                          const std::vector<std::string>&,
                          Time) override {
    return {};
  }
  Result<bool> await_change(Time) override { return false; }

  Server& server_;
  std::string table_ = "dlock";
};

const Time k_limit = Time::max();

Holds granted(FakeSql& store, const Claim& claim) {
  const auto reply = store.acquire(claim, Queueing::no, k_limit);
  REQUIRE(reply);
  REQUIRE(std::holds_alternative<Grant>(*reply));
  return std::get<Grant>(*reply).holds;
}

}  // namespace

TEST_CASE("sql: a claim whose row was not written is an error") {
  FakeSql::Server server;
  FakeSql store(server);
  store.finds_no_row = true;
  const auto reply = store.acquire(claim_of("p", "t"), Queueing::no, k_limit);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().text.find("stays as it was") != std::string::npos);
}

TEST_CASE("sql: a release is one message if the row is as our newest step wrote it") {
  FakeSql::Server server;
  FakeSql store(server);
  const Holds holds = granted(store, claim_of("p", "t"));
  store.loads = store.writes = 0;
  SUBCASE("after the claim") {}
  SUBCASE("after a renewal") {
    CHECK(store.renew(holds, k_limit)->verdict == RenewVerdict::renewed);
    store.loads = store.writes = 0;
  }
  SUBCASE("after a look that changed nothing") {
    CHECK(store.check(holds, k_limit)->verdict == RenewVerdict::held);
    store.loads = store.writes = 0;
  }
  CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::released);
  CHECK(store.loads == 0);
  CHECK(store.writes == 1);
  CHECK(server.row->columns.locked_by.empty());
  CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::not_held);
}

TEST_CASE("sql: a release reads the row if a claim waits, and the claim gets its turn") {
  FakeSql::Server server;
  FakeSql store(server);
  FakeSql other(server);
  const Holds holds = granted(store, claim_of("p", "t"));
  const auto refused = other.acquire(claim_of("q", "u"), Queueing::polling, k_limit);
  REQUIRE(std::holds_alternative<Refusal>(*refused));
  const StoreTime alive_until = server.row->line.at(0).alive_until;
  store.loads = 0;
  CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::released);
  CHECK(store.loads == 1);
  CHECK(server.row->line.at(0).alive_until != alive_until);
}

TEST_CASE("sql: a release reads the row if another process wrote it") {
  FakeSql::Server server;
  FakeSql store(server);
  FakeSql other(server);
  SUBCASE("another reader has joined, and keeps its lease") {
    const Holds holds = granted(store, claim_as(Mode::shared, "p"));
    const Holds joined = granted(other, claim_as(Mode::shared, "q"));
    store.loads = 0;
    CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::released);
    CHECK(other.check(joined, k_limit)->verdict == RenewVerdict::held);
  }
  SUBCASE("the row was lost, and the next holder has the same host name and process number") {
    const Holds holds = granted(store, claim_of("p", "t"));
    server.row.reset();
    const Holds next = granted(other, claim_of("q", "u"));
    store.loads = 0;
    CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::not_held);
    CHECK(other.check(next, k_limit)->verdict == RenewVerdict::held);
  }
  SUBCASE("ShedLock has the row, and keeps it") {
    const Holds holds = granted(store, claim_of("p", "t"));
    server.row->columns.locked_by = "app1";
    store.loads = 0;
    CHECK(*store.release(holds, {}, k_limit) == ReleaseVerdict::not_held);
    CHECK(server.row->columns.locked_by == "app1");
  }
  CHECK(store.loads == 1);
}

TEST_CASE("sql: a release reads the row if the present time matters") {
  FakeSql::Server server;
  FakeSql store(server);
  ReleaseOptions options;
  SUBCASE("the lease may have ended") {
    store.answer_takes = 10s;
  }
  SUBCASE("the lock is kept") {
    options.keep = 1s;
  }
  const Holds holds = granted(store, claim_of("p", "t"));
  store.loads = 0;
  CHECK(*store.release(holds, options, k_limit) == ReleaseVerdict::released);
  CHECK(store.loads == 1);
}

TEST_CASE("sql: a release reads the row if another lease of the row was renewed in between") {
  FakeSql::Server server;
  FakeSql store(server);
  const Holds dead = granted(store, claim_as(Mode::shared, "p"));
  const Holds other = granted(store, claim_as(Mode::shared, "q"));
  server.now_us += 9'999'999;
  store.answer_takes = 1us;  // the lease of ten seconds may be over when the answer is there
  CHECK(store.renew(other, k_limit)->verdict == RenewVerdict::renewed);
  server.now_us += 1;
  store.loads = 0;
  CHECK(*store.release(dead, {}, k_limit) == ReleaseVerdict::not_held);
  CHECK(store.loads == 1);
  CHECK(*store.release(other, {}, k_limit) == ReleaseVerdict::released);
}

}  // namespace dlock::lease_table
