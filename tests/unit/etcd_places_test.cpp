// SPDX-License-Identifier: MIT
// The places of claims for several names in etcd: any two claims have one order in every line.
#include "store/etcd/etcd_row.hpp"
#include "store/table/waiting_line.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "lease_words.hpp"

namespace dlock::lease_table {

namespace {

// The keys of the locks "a" and "b".
class KeysOfTwo {
 public:
  // One try of a claim that waits. It must be refused.
  EtcdChange wait(const Claim& claim, Duration time) {
    Moment moment = at(time);
    moment.numbers_writes = true;
    std::vector<EtcdRow> rows;
    for (const LockName& name : claim.names)
      rows.push_back(row(name.text(), moment.now));
    const std::vector<StoredLock> after = after_refusal(rows, claim, moment);
    EtcdChange change;
    const std::vector<OwnerId> none;
    for (std::size_t i = 0; i < rows.size(); ++i)
      add_change(rows[i], after[i], {moment, revision_, false, false, none}, change);
    carry_out(change);
    return change;
  }

  EtcdRow row(const std::string& lock, StoreTime now) const { return row_of(lock, keys_, {}, now); }
  // Returns the ids of the waiters for the lock, in the order of their places.
  std::vector<std::string> line_of(const std::string& lock) const {
    return ids_of(row(lock, at(1s).now).state.line);
  }
  // Adds the key of another program, which holds the lock.
  void hold(const std::string& lock) {
    keys_.push_back({lock + "/1", "", ++revision_, revision_, 1});
  }
  void remove(const std::string& key) {
    std::erase_if(keys_, [&](const EtcdKey& one) { return one.key == key; });
  }

 private:
  void carry_out(const EtcdChange& change) {
    if (!change.txn.then.empty()) ++revision_;
    for (const EtcdOperation& operation : change.txn.then) {
      if (const auto* gone = std::get_if<EtcdDelete>(&operation)) remove(gone->range.first);
      const auto* put = std::get_if<EtcdPut>(&operation);
      if (put == nullptr) continue;
      const auto at = std::find_if(
          keys_.begin(), keys_.end(), [&](const EtcdKey& one) { return one.key == put->key; });
      if (at == keys_.end())
        keys_.push_back({put->key, put->value, revision_, revision_, put->lease});
      else
        *at = {put->key, put->value, at->created, revision_, put->lease};
    }
  }

  std::vector<EtcdKey> keys_;
  EtcdRevision revision_ = 100;
};

}  // namespace

TEST_CASE("etcd places: a claim that lost its place in one line comes last in all of its lines") {
  KeysOfTwo keys;
  keys.hold("a");
  keys.hold("b");
  const Claim first = for_both(claim_of("p", "t"));
  const Claim second = for_both(claim_of("q", "u"));
  keys.wait(first, 1s);
  keys.wait(second, 1s);
  const EtcdRow before = keys.row("b", at(1s).now);
  const EtcdKey& old = before.keys[before.waiters.at(waiter_id(first))];
  const EtcdRow lost = keys.row("a", at(1s).now);
  keys.remove(lost.keys[lost.waiters.at(waiter_id(first))].key);
  const EtcdChange change = keys.wait(first, 2s);
  CHECK(keys.line_of("a") == std::vector{waiter_id(second), waiter_id(first)});
  CHECK(keys.line_of("b") == keys.line_of("a"));
  CHECK(change.left == std::vector{old.lease});
  // The change fails if the old key has changed.
  CHECK(std::any_of(change.txn.compares.begin(), change.txn.compares.end(), [&](const auto& one) {
    return one.range.first == old.key && one.than == old.modified;
  }));
  CHECK(keys.wait(first, 3s).txn.then.empty());
}

TEST_CASE("etcd places: a first waiter that waits for another name, too, shows that it tries") {
  KeysOfTwo keys;
  keys.hold("b");
  const Claim both = for_both(claim_of("p", "t"));
  keys.wait(both, 1s);
  const auto key_in = [&](const std::string& lock) {
    const EtcdRow row = keys.row(lock, at(2s).now);
    return row.keys[row.waiters.at(waiter_id(both))];
  };
  CHECK(keys.wait(both, 2s).txn.then.empty());  // there is no other that could pass it over
  keys.wait(for_both(claim_of("q", "u")), 2s);
  const EtcdKey before = key_in("a");
  const EtcdChange change = keys.wait(both, 2s);
  REQUIRE(change.txn.then.size() == 1);  // "b" is held, so no turn there can be measured
  CHECK(change.leases.size() == 2);
  const EtcdKey after = key_in("a");
  CHECK(after.key == before.key);
  CHECK(after.value == before.value);
  CHECK(after.lease == before.lease);
  CHECK(after.created == before.created);
  CHECK(after.modified > before.modified);
  CHECK(keys.row("a", at(2s).now).state.line.front().written == after.modified);
  // The other waiters compare this number before they pass it over.
  CHECK(std::any_of(change.txn.compares.begin(), change.txn.compares.end(), [&](const auto& one) {
    return one.range.first == before.key && one.than == before.modified;
  }));
}

}  // namespace dlock::lease_table
