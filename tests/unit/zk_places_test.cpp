// SPDX-License-Identifier: MIT
// The places of claims for several names in ZooKeeper: any two claims have one order in every line.
#include "store/zookeeper/zk_row.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "lease_words.hpp"

namespace dlock::lease_table {

namespace {

constexpr std::int64_t k_one_session = 77;

// The nodes of the locks "a" and "b".
class TwoFolders {
 public:
  // One try of a claim that waits. It must be refused.
  ZkChange wait(const Claim& claim, Duration time) {
    Moment moment = at(time);
    moment.numbers_writes = true;
    std::vector<ZkRow> rows;
    for (const LockName& name : claim.names)
      rows.push_back(row(name.text(), moment.now));
    const std::vector<StoredLock> after = after_refusal(rows, claim, moment);
    ZkChange change;
    const std::vector<OwnerId> none;
    for (std::size_t i = 0; i < rows.size(); ++i)
      add_zk_change(rows[i], i, after[i], {moment, ZkLayout::curator, false, false, none}, change);
    ++zxid_;
    for (const ZkRequest& part : change.parts)
      carry_out(part);
    return change;
  }

  ZkRow row(const std::string& lock, StoreTime now) const {
    ZkRow row{.lock = lock, .folder = '/' + lock, .note_path = "/n/" + lock, .has_folder = true};
    for (const ZkContender& node : nodes_)
      if (node.path.starts_with(row.folder + '/')) row.nodes.push_back(node);
    read_zk_row(row, now);
    return row;
  }
  // Returns the ids of the waiters for the lock, in the order of their places.
  std::vector<std::string> line_of(const std::string& lock) const {
    return ids_of(row(lock, at(1s).now).state.line);
  }
  // Adds the node of another program, which holds the lock.
  void hold(const std::string& lock) { add('/' + lock + "/lock-", "10.0.0.1"); }
  void remove(const std::string& path) {
    std::erase_if(nodes_, [&](const ZkContender& one) { return one.path == path; });
  }

 private:
  void add(const std::string& path, const std::string& data) {
    std::array<char, 16> digits{};
    (void)std::snprintf(digits.data(), digits.size(), "%010d", next_++);
    nodes_.push_back({.path = path + digits.data(),
                      .data = data,
                      .stat = {.czxid = zxid_, .mzxid = zxid_, .owner = k_one_session},
                      .place = *zk_place_of(ZkLayout::curator, path + digits.data())});
  }
  void carry_out(const ZkRequest& part) {
    if (part.op == ZkOp::create) add(part.path, part.data);
    if (part.op == ZkOp::remove) remove(part.path);
    if (part.op != ZkOp::set_data) return;
    const auto at = std::find_if(
        nodes_.begin(), nodes_.end(), [&](const auto& one) { return one.path == part.path; });
    REQUIRE(at->stat.version == part.version);
    at->data = part.data;
    ++at->stat.version;
    at->stat.mzxid = zxid_;
  }

  std::vector<ZkContender> nodes_;
  int next_ = 0;
  std::int64_t zxid_ = 100;
};

}  // namespace

TEST_CASE("zookeeper places: a claim that lost its place in one line comes last in all") {
  TwoFolders folders;
  folders.hold("a");
  folders.hold("b");
  const Claim first = for_both(claim_of("p", "t"));
  const Claim second = for_both(claim_of("q", "u"));
  folders.wait(first, 1s);
  folders.wait(second, 1s);
  const ZkRow before = folders.row("b", at(1s).now);
  const ZkContender& old = before.nodes[before.waiters.at(waiter_id(first))];
  const ZkRow lost = folders.row("a", at(1s).now);
  folders.remove(lost.nodes[lost.waiters.at(waiter_id(first))].path);
  const ZkChange change = folders.wait(first, 2s);
  CHECK(folders.line_of("a") == std::vector{waiter_id(second), waiter_id(first)});
  CHECK(folders.line_of("b") == folders.line_of("a"));
  CHECK(change.made.size() == 2);
  CHECK(change.removed == std::vector{old.path});
  CHECK(folders.wait(first, 3s).made.empty());
}

TEST_CASE("zookeeper places: a first waiter that waits for another name shows that it tries") {
  TwoFolders folders;
  folders.hold("b");
  const Claim both = for_both(claim_of("p", "t"));
  folders.wait(both, 1s);
  const auto node_in = [&](const std::string& lock) {
    const ZkRow row = folders.row(lock, at(2s).now);
    return row.nodes[row.waiters.at(waiter_id(both))];
  };
  folders.wait(for_both(claim_of("q", "u")), 1s);
  const ZkContender before = node_in("a");
  const ZkContender other = node_in("b");
  const ZkChange change = folders.wait(both, 2s);
  CHECK(change.made.empty());
  CHECK(change.renewed.contains(k_one_session));
  const ZkContender after = node_in("a");
  CHECK(after.path == before.path);
  CHECK(after.data == before.data);
  CHECK(after.stat.version == before.stat.version + 1);
  CHECK(folders.row("a", at(2s).now).state.line.front().written == after.stat.mzxid);
  // "b" is held, so no turn there can be measured.
  CHECK(node_in("b").stat.version == other.stat.version);
}

}  // namespace dlock::lease_table
