// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_rows.hpp"

#include "store/record_json.hpp"
#include "store/table/contender.hpp"
#include "store/table/waiting_line.hpp"

#include <doctest/doctest.h>

#include <string>

#include "lease_words.hpp"

namespace dlock::lease_table {
namespace {

constexpr EtcdRevision k_read = 100;

EtcdKey holder(const std::string& name, EtcdRevision created) {
  StoredLock state;
  REQUIRE(acquire({&state}, claim_of("h" + name, "s"), at(1s)).has_value());
  const auto& [owner, lease] = *state.leases.begin();
  return {"a/" + name, contender::lease_json(owner, lease, 30s, 0), created, created, created};
}
EtcdKey waiter(const std::string& name, EtcdRevision created, const Waiter& who = {}) {
  return {"a/" + name, place_json({.id = "w" + name, .waiter = who}), created, created, created};
}
std::string watched_by(const std::string& id, std::vector<EtcdKey> keys) {
  const auto watched = etcd_watched({row_of("a", std::move(keys), {}, at(2s).now)}, {id});
  std::string text = watched.events == EtcdEvents::deletes ? "deletes" : "all";
  for (const EtcdRange& one : watched.ranges)
    text += ' ' + one.first + (one.end.empty() ? "" : "-");
  return text;
}

TEST_CASE("etcd rows: a waiter watches the ends of the two keys before its own") {
  const std::vector<EtcdKey> keys{holder("1", 1), waiter("2", 2), waiter("3", 3), waiter("4", 4)};
  CHECK(watched_by("w4", keys) == "deletes a/2 a/3");
  CHECK(watched_by("w3", keys) == "deletes a/1 a/2");
  CHECK(watched_by("w2", keys) == "deletes a/1");
  CHECK(watched_by("w7", keys) == "all a/0-");  // it is in no line
  CHECK(watched_by("w2", {waiter("2", 2), waiter("3", 3)}) == "all a/0-");
}

TEST_CASE("etcd rows: a waiter watches all keys if one behind it may matter") {
  // A freeze of a free lock comes behind the waiters.
  const std::vector<EtcdKey> frozen{waiter("2", 2), waiter("3", 3), holder("4", 4)};
  CHECK(watched_by("w3", frozen) == "all a/0-");
  const auto second = [](const Waiter& who) {
    return watched_by("w3", {holder("1", 1), waiter("2", 2), waiter("3", 3, who)});
  };
  CHECK(second({}) == "deletes a/1 a/2");
  CHECK(second({.mode = Mode::exclusive}) == "deletes a/1 a/2");
  CHECK(second({.mode = Mode::shared}) == "all a/0-");
  CHECK(second({.mode = Mode::slots, .slots = 2}) == "all a/0-");
  CHECK(second({.who = {.supersede = Supersede::waiting}}) == "all a/0-");
}

TEST_CASE("etcd rows: events show the turn of a waiter only if they leave it nothing to wait for") {
  const auto turn = [](std::vector<EtcdKey> keys, const std::vector<EtcdEvent>& events) {
    EtcdRows rows{.moment = at(2s)};
    rows.rows.push_back(row_of("a", std::move(keys), {}, at(2s).now));
    return etcd_turn(std::move(rows), events, {"w3"});
  };
  const EtcdKey held = holder("1", 1);
  const EtcdKey own = waiter("3", 3);
  const auto rows = turn({held, own, waiter("4", 4)}, {{true, held}});
  REQUIRE(rows.has_value());
  const StoredLock& state = rows->rows.front().state;
  CHECK(state.leases.empty());
  CHECK(number_of(state.line, "w3") == 1);
  CHECK(living(state.line, at(2s).now) == 2);
  CHECK_FALSE(turn({held, waiter("2", 2), own}, {{true, held}}));
  CHECK_FALSE(turn({held, own}, {{true, waiter("2", 2)}}));
  CHECK_FALSE(turn({held, own, holder("5", 5)}, {{true, held}}));
  CHECK_FALSE(turn({held, own}, {{true, held}, {false, waiter("5", 5)}}));
  EtcdRows rest{.moment = at(2s)};
  rest.rows.push_back(row_of("a", {{"a/b/1", "", 1, 1, 1}, held, own}, {}, at(2s).now));
  CHECK(etcd_turn(rest, {{true, held}}, {"w3"})->rows.front().shares_range);
}

TEST_CASE("etcd rows: a watch that brings all that is wanted need not begin anew") {
  const EtcdWatched two{{{"a/1"}, {"a/2"}}, EtcdEvents::deletes};
  CHECK(covers(two, two));
  CHECK(covers(two, {{{"a/2"}}, EtcdEvents::deletes}));
  CHECK_FALSE(covers(two, {{{"a/2"}, {"a/3"}}, EtcdEvents::deletes}));
  CHECK_FALSE(covers(two, {{{"a/2"}}, EtcdEvents::all}));
  CHECK_FALSE(covers(two, {{keys_of_lock("a")}, EtcdEvents::deletes}));
}

TEST_CASE("etcd rows: a reading has the keys, the notes and the epoch, or must be made again") {
  const std::vector<LockName> names{*LockName::parse("a"), *LockName::parse("b")};
  const auto answer = [](std::vector<EtcdKey> keys, std::int64_t count) {
    EtcdAnswer one;
    one.keys = std::move(keys);
    one.count = count;
    return one;
  };
  const EtcdReading all(names, {"w2"}, {}, true);
  CHECK(all.requests().size() == 5);  // for each name its keys and its note, and the epoch
  const auto rows = all.rows_of({.revision = k_read,
                                 .term = 3,
                                 .parts = {answer({holder("1", 1), waiter("2", 2)}, 2),
                                           answer({}, 0),
                                           answer({}, 0),
                                           answer({{"dlock-done/b", "{}", 5, 5, 5}}, 1),
                                           answer({{"dlock-epoch", "77", 3, 4}}, 1)}},
                                at(2s));
  REQUIRE(rows.has_value());
  CHECK(rows->rows.at(0).state.line.size() == 1);
  CHECK_FALSE(rows->rows.at(0).note);
  CHECK(rows->rows.at(1).note->modified == 5);
  CHECK(rows->epoch->value == 77);
  CHECK(rows->epoch->version == 4);
  CHECK(rows->term == 3);
  CHECK(rows->lines.at(0)->ours == 2);
  CHECK_FALSE(rows->lines.at(1));

  const EtcdReading next(names, {"w2"}, rows->lines, false);
  CHECK(next.requests().size() == 5);  // the first keys, those written since, the note; b as before
  const std::vector<EtcdAnswer> gone{
      answer({}, 0), answer({}, 0), answer({}, 0), answer({}, 0), answer({}, 0)};
  const auto later = next.rows_of({.revision = k_read + 1, .parts = gone}, at(3s));
  REQUIRE(later.has_value());
  CHECK(later->rows.at(0).keys.empty());
  CHECK_FALSE(later->epoch);
  // The store was restored from an older copy.
  CHECK_FALSE(next.rows_of({.revision = k_read - 1, .parts = gone}, at(3s)));
}

}  // namespace
}  // namespace dlock::lease_table
