// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_row.hpp"

#include "store/record_json.hpp"
#include "store/table/waiting_line.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "lease_words.hpp"

namespace dlock::lease_table {

namespace {

constexpr EtcdRevision k_seen = 100;

// The keys of etcd after the puts of changes.
class Keys {
 public:
  // Carries out one step of dlock on the lock "a" and returns its change.
  template <class Rule>
  EtcdChange step(const Moment& moment, const Rule& rule) {
    const EtcdRow before = row(moment.now);
    StoredLock after = before.state;
    Moment numbered = moment;
    numbered.numbers_writes = true;
    std::vector<OwnerId> renewed;
    const bool writes = rule(after, numbered, renewed);
    EtcdChange change;
    add_change(before, after, {numbered, revision_, writes, false, renewed}, change);
    carry_out(change);
    return change;
  }

  EtcdRow row(StoreTime now) const { return row_of("a", keys_, {}, now); }
  void add_foreign(const std::string& key) {
    keys_.push_back({key, "", ++revision_, revision_, 7});
  }
  const std::vector<EtcdKey>& all() const { return keys_; }

 private:
  void carry_out(const EtcdChange& change) {
    if (!change.txn.then.empty()) ++revision_;
    for (const EtcdOperation& operation : change.txn.then) {
      if (const auto* put = std::get_if<EtcdPut>(&operation)) {
        const auto at = std::find_if(
            keys_.begin(), keys_.end(), [&](const EtcdKey& key) { return key.key == put->key; });
        if (at == keys_.end())
          keys_.push_back({put->key, put->value, revision_, revision_, put->lease});
        else
          *at = {put->key, put->value, at->created, revision_, put->lease};
      }
      if (const auto* gone = std::get_if<EtcdDelete>(&operation))
        std::erase_if(keys_, [&](const EtcdKey& key) { return key.key == gone->range.first; });
    }
  }

  std::vector<EtcdKey> keys_;
  EtcdRevision revision_ = k_seen;
};

EtcdChange claim(Keys& keys, const Claim& one, const Moment& moment, bool& granted) {
  return keys.step(moment, [&](StoredLock& state, const Moment& at, auto& renewed) {
    const auto reply = acquire({&state}, one, at, Queueing::listening);
    granted = reply && std::holds_alternative<Grant>(*reply);
    if (granted) renewed = {std::get<Grant>(*reply).holds.front().owner};
    return granted;
  });
}

// One try of a claim to which later keys make no difference, from a row that may be outdated.
EtcdChange try_from(const EtcdRow& before, const Claim& one, EtcdStep step) {
  StoredLock after = before.state;
  Moment numbered = at(3s);
  numbered.numbers_writes = true;
  const auto reply = acquire({&after}, one, numbered, Queueing::listening);
  const bool granted = reply && std::holds_alternative<Grant>(*reply);
  EtcdChange change;
  add_change(before,
             after,
             {.moment = numbered,
              .revision = k_seen,
              .writes = granted,
              .proves = false,
              .renewed = step.renewed,
              .ignores_later = step.ignores_later,
              .line_lease = step.line_lease},
             change);
  return change;
}
const std::vector<OwnerId> k_none;
const Moment k_then = at(3s);
constexpr EtcdLease k_line_lease = 0xabc;
EtcdStep step_of(bool ignores_later) {
  return {.moment = k_then,
          .revision = k_seen,
          .writes = false,
          .proves = false,
          .renewed = k_none,
          .ignores_later = ignores_later,
          .line_lease = k_line_lease};
}

// Returns whether etcd would carry out the change with these keys and this note.
bool fits(const EtcdChange& change, const std::vector<EtcdKey>& keys, EtcdRevision note = 0) {
  const auto fits_one = [&](const EtcdCompare& one) {
    const auto holds = [&](const EtcdKey& key) {
      const auto number = one.number == EtcdCompare::Number::created ? key.created : key.modified;
      switch (one.relation) {
        case EtcdCompare::Relation::equal:
          return number == one.than;
        case EtcdCompare::Relation::not_equal:
          return number != one.than;
        case EtcdCompare::Relation::greater:
          return number > one.than;
        case EtcdCompare::Relation::less:
          return number < one.than;
      }
      return false;
    };
    if (one.range.first == note_of_lock("a")) return holds({"", "", note, note});
    std::vector<EtcdKey> some;
    for (const EtcdKey& key : keys)
      if (one.range.end.empty() ? key.key == one.range.first
                                : one.range.first <= key.key && key.key < one.range.end)
        some.push_back(key);
    if (some.empty()) return holds({});
    return std::all_of(some.begin(), some.end(), holds);
  };
  return std::all_of(change.txn.compares.begin(), change.txn.compares.end(), fits_one);
}
EtcdKey waiter_key(const std::string& key, const Claim& one, EtcdRevision created) {
  return {key,
          place_json({.id = waiter_id(one), .waiter = Waiter{.who = one.who, .mode = one.mode}}),
          created,
          created,
          created};
}
EtcdKey holder_key(const std::string& key, const Claim& one, EtcdRevision created) {
  StoredLock state;
  REQUIRE(acquire({&state}, one, at(1s)).has_value());
  return {key,
          contender::lease_json(one.owner, state.leases.at(one.owner), 30s, 0),
          created,
          created,
          created};
}

std::size_t grants_of(const EtcdChange& change) {
  return static_cast<std::size_t>(
      std::count_if(change.leases.begin(), change.leases.end(), [](const EtcdRequest& one) {
        return std::holds_alternative<EtcdGrant>(one);
      }));
}

}  // namespace

TEST_CASE("etcd: a key of a lock ends with the digits of a lease") {
  CHECK(lock_of_key("a/694d") == "a");
  CHECK(lock_of_key("team/job/1") == "team/job");
  CHECK_FALSE(lock_of_key("a/job"));
  CHECK_FALSE(lock_of_key("a/694D"));
  CHECK_FALSE(lock_of_key("a/"));
  CHECK_FALSE(lock_of_key("/694d"));
  CHECK_FALSE(lock_of_key("694d"));
}

TEST_CASE("etcd: a claim that is granted makes one key on a lease of its ttl, if none has come") {
  Keys keys;
  bool granted = false;
  const EtcdChange change = claim(keys, claim_of("p", "t"), at(1s), granted);
  CHECK(granted);
  REQUIRE(keys.all().size() == 1);
  CHECK(grants_of(change) == 1);
  CHECK(std::any_of(change.txn.compares.begin(), change.txn.compares.end(), [](const auto& one) {
    return one.range.first == "a/0" && one.number == EtcdCompare::Number::modified &&
           one.relation == EtcdCompare::Relation::less && one.than == k_seen + 1;
  }));
  // Its token is the revision of the grant, also after the lease was renewed.
  const EtcdRow row = keys.row(at(2s).now);
  CHECK(row.state.leases.at("p").holds.begin()->second.token == k_seen + 1);
}

TEST_CASE("etcd row: a grant of one of several names fails if any of the others has changed") {
  const EtcdRow row = row_of("a", {}, {}, at(1s).now);
  const std::vector<OwnerId> none;
  for (const bool proves : {false, true}) {
    EtcdChange change;
    add_change(row, row.state, {at(1s), k_seen, false, proves, none}, change);
    CHECK(change.txn.then.empty());
    REQUIRE(change.txn.compares.size() == (proves ? 1 : 0));
    if (!proves) continue;
    CHECK(change.txn.compares[0].range.first == "a/0");
    CHECK(change.txn.compares[0].than == k_seen + 1);
  }
}

TEST_CASE(
    "etcd: waiters stand in the order of creation, and keep their key when they are granted") {
  Keys keys;
  bool granted = false;
  claim(keys, claim_of("p", "t"), at(1s), granted);
  claim(keys, claim_of("q", "u"), at(1s), granted);
  CHECK_FALSE(granted);
  claim(keys, claim_of("r", "v"), at(1s), granted);
  const EtcdRow row = keys.row(at(2s).now);
  REQUIRE(row.state.line.size() == 2);
  CHECK(row.state.line[0].id == "q#u");
  CHECK(row.state.line[1].id == "r#v");
  const std::string key = row.keys[1].key;
  keys.step(at(3s), [](StoredLock& state, const Moment&, auto&) {
    state.leases.clear();
    return true;
  });
  const EtcdChange change = claim(keys, claim_of("q", "u"), at(3s), granted);
  CHECK(granted);
  CHECK(change.left == std::vector{row.keys[1].lease});  // that of the waiter
  CHECK(keys.all().front().key == key);
}

TEST_CASE("etcd: a waiter's try is a keep-alive, and nothing is put") {
  Keys keys;
  bool granted = false;
  claim(keys, claim_of("p", "t"), at(1s), granted);
  claim(keys, claim_of("q", "u"), at(1s), granted);
  const EtcdChange change = claim(keys, claim_of("q", "u"), at(2s), granted);
  CHECK(change.txn.then.empty());
  REQUIRE(change.leases.size() == 1);
  CHECK(std::get<EtcdKeepAlive>(change.leases[0]).lease == keys.all()[1].lease);
}

TEST_CASE(
    "etcd: a key that dlock did not write holds the lock as the first, and waits behind others") {
  Keys keys;
  keys.add_foreign("a/1");
  keys.add_foreign("a/2");
  bool granted = true;
  claim(keys, claim_of("q", "u"), at(1s), granted);
  CHECK_FALSE(granted);
  const EtcdRow row = keys.row(at(60s).now);
  REQUIRE(row.state.foreign);
  CHECK(row.state.foreign->who == "a/1");
  REQUIRE(row.state.line.size() == 2);
  CHECK(row.state.line[0].id == "a/2");
  CHECK(row.state.line[0].alive_until > at(60s).now);
  // A key of another lock, whose name begins so, is none of these.
  CHECK(row_of("a", {{"a/b/1", "", 1, 1, 7}}, {}, at(1s).now).keys.empty());
}

TEST_CASE("etcd: a foreign key without a lease never ends; with one its end is not known") {
  const auto left = [](std::int64_t lease) {
    const EtcdRow row = row_of("a", {{"a/1", "", 1, 1, lease}}, {}, at(1s).now);
    return inspect(row.state, at(1s)).lease_left;
  };
  CHECK(left(0) == LeaseLeft::never());
  CHECK(left(7) == LeaseLeft());
}

TEST_CASE("etcd: a value that is damaged, or of a newer dlock, is a foreign program's") {
  for (const char* const value : {"{}", "[1]", "{\"leases\":7}", "x", "{\"waiter\":3}"}) {
    const EtcdRow row = row_of("a", {{"a/1", value, 1, 1, 7}}, {}, at(1s).now);
    CHECK(row.state.foreign);
    CHECK(row.state.leases.empty());
    CHECK(row.state.layout == 1);
  }
  const std::string newer = "{\"layout\":2,\"waiter\":\"o#1\"}";
  CHECK(row_of("a", {{"a/1", newer, 1, 1, 7}}, {}, at(1s).now).state.layout == 2);
  CHECK(row_of("a", {{"a/1", "", 1, 1, 7}, {"a/2", newer, 2, 2, 7}}, {}, at(1s).now).state.layout ==
        2);
}

TEST_CASE("etcd: a kept hold moves to a lease of its own") {
  Keys keys;
  bool granted = false;
  claim(keys, claim_of("p", "t"), at(1s), granted);
  const EtcdLease before = keys.all().front().lease;
  const EtcdChange change = keys.step(at(2s), [](StoredLock& state, const Moment& moment, auto&) {
    const Hold hold = {.name = *LockName::parse("a"), .owner = "p", .serial = "t"};
    return release({&state}, {hold}, {.keep = 5s}, moment) == ReleaseVerdict::released;
  });
  REQUIRE(change.leases.size() == 1);
  CHECK(std::get<EtcdGrant>(change.leases[0]).ttl == 5s);
  CHECK(change.left == std::vector{before});
  CHECK(is_kept(keys.row(at(2s).now).state.leases.at("p")));
}

TEST_CASE("etcd row: a waiter joins behind others, whatever has come since it read") {
  const Claim one = claim_of("q", "u");
  const EtcdKey holder = holder_key("a/1", claim_of("p", "t"), 10);
  const EtcdRow row = row_of("a", {holder}, {}, at(2s).now);
  const EtcdChange change = try_from(row, one, step_of(true));
  CHECK(change.joins);
  CHECK(fits(change, {holder}));
  EtcdKey renewed = holder;
  renewed.modified = k_seen + 1;
  CHECK(fits(change, {renewed, waiter_key("a/2", claim_of("r", "v"), k_seen + 2)}));
  // A late copy of the request makes no second key.
  CHECK(std::get<EtcdGrant>(change.leases.at(0)).lease == k_line_lease);
  CHECK_FALSE(fits(change, {holder, waiter_key("a/abc", one, k_seen + 1)}));
}

TEST_CASE("etcd row: a waiter that counts others, or shares the lock, joins what it has read") {
  const EtcdKey holder = holder_key("a/1", claim_of("p", "t"), 10);
  const EtcdRow row = row_of("a", {holder}, {}, at(2s).now);
  Claim reader = claim_of("q", "u");
  reader.mode = Mode::shared;
  const EtcdKey came = waiter_key("a/2", claim_of("r", "v"), k_seen + 1);
  for (const EtcdChange& change :
       {try_from(row, claim_of("q", "u"), step_of(false)), try_from(row, reader, step_of(true))}) {
    CHECK_FALSE(change.joins);
    CHECK(fits(change, {holder}));
    CHECK_FALSE(fits(change, {holder, came}));
  }
}

TEST_CASE("etcd row: a first waiter takes a free lock, whatever waiters have come behind it") {
  const Claim one = claim_of("q", "u");
  const EtcdKey own = waiter_key("a/5", one, 20);
  const EtcdRow row = row_of("a", {own}, {}, at(2s).now);
  const EtcdChange change = try_from(row, one, step_of(true));
  REQUIRE(change.grants);
  CHECK(fits(change, {own}));
  CHECK(fits(change, {own, waiter_key("a/2", claim_of("r", "v"), k_seen + 1)}));
  // Our key is gone: another one passed us over.
  CHECK_FALSE(fits(change, {holder_key("a/2", claim_of("r", "v"), k_seen + 1)}));
  EtcdKey changed = own;
  changed.modified = k_seen + 1;
  CHECK_FALSE(fits(change, {changed}));
  // An older key of a program that is not dlock would hold the lock.
  CHECK_FALSE(fits(change, {{"a/1", "", 19, 19, 7}, own}));
  // A freeze has come, whose key is younger.
  CHECK_FALSE(fits(change, {own, holder_key("a/2", claim_of("r", "v"), k_seen + 1)}, k_seen + 1));
  CHECK_FALSE(fits(try_from(row, one, step_of(false)),
                   {own, waiter_key("a/2", claim_of("r", "v"), k_seen + 1)}));
}

TEST_CASE("etcd row: a waiter that is not the first of a free lock proves all keys") {
  const Claim one = claim_of("q", "u");
  const EtcdKey own = waiter_key("a/5", one, 20);
  const EtcdKey came = waiter_key("a/2", claim_of("r", "v"), k_seen + 1);
  const auto is_whole = [&](std::vector<EtcdKey> keys, const std::vector<EtcdKey>& note) {
    EtcdRow row = row_of("a", keys, note, at(2s).now);
    // A first waiter whose turn is over.
    if (row.state.line.front().id != waiter_id(one))
      row.state.line.front().alive_until = at(2s).now;
    const EtcdRevision written = note.empty() ? 0 : note.front().modified;
    const EtcdChange change = try_from(row, one, step_of(true));
    REQUIRE(change.grants);
    CHECK(fits(change, keys, written));
    keys.push_back(came);
    return !fits(change, keys, written);
  };
  CHECK_FALSE(is_whole({own}, {}));
  CHECK(is_whole({waiter_key("a/1", claim_of("s", "w"), 10), own}, {}));
  // The lock "a/b" has a key in the range.
  CHECK(is_whole({{"a/b/1", "", 10, 10, 7}, own}, {}));
  // A freeze that has ended here may go on at a host with a slower clock.
  StoredLock frozen;
  frozen.frozen = FreezeNote{.owner = "f", .since_ms = 1, .until_ms = 2};
  CHECK(is_whole({own}, {{note_of_lock("a"), contender::note_json(frozen), 9, 9, 9}}));
}

TEST_CASE("a change that grants says so, and fails if another has raised the epoch since") {
  Keys keys;
  bool granted = false;
  EtcdChange change = claim(keys, claim_of("o1", "s1"), at(0s), granted);
  REQUIRE(granted);
  CHECK(change.grants);
  add_etcd_epoch({.value = 1000, .version = 42}, 1000, change);
  const EtcdCompare& compare = change.txn.compares.back();
  CHECK(compare.range.first == k_etcd_epoch);
  CHECK(compare.than == 42);
  const std::size_t writes = change.txn.then.size();
  add_etcd_epoch({.value = 1000, .version = 42}, 2000, change);
  REQUIRE(change.txn.then.size() == writes + 1);
  CHECK(std::get<EtcdPut>(change.txn.then.back()).value == "2000");
  CHECK_FALSE(claim(keys, claim_of("o2", "s2"), at(1s), granted).grants);
}

}  // namespace dlock::lease_table
