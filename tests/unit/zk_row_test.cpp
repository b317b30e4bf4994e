// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_row.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "lease_words.hpp"

namespace dlock::lease_table {

namespace {

constexpr std::int64_t k_session = 77;

// The folder of a lock after the multis of changes; all nodes belong to one session.
class Folder {
 public:
  ZkRow row(StoreTime now) const {
    ZkRow row{.lock = "a", .folder = "/a", .note_path = "/dlock-done/a", .has_folder = true};
    for (const ZkContender& node : nodes_)
      row.nodes.push_back(node);
    std::reverse(row.nodes.begin(), row.nodes.end());  // in no order
    row.note = note;
    read_zk_row(row, now);
    return row;
  }

  // Carries out one step of dlock and returns its change.
  template <class Rule>
  ZkChange step(const Moment& moment, const Rule& rule, bool proves_note = false) {
    const ZkChange change = plan(row(moment.now), moment, rule, proves_note);
    for (const ZkRequest& part : change.parts)
      carry_out(part);
    return change;
  }

  template <class Rule>
  static ZkChange plan(const ZkRow& before,
                       const Moment& moment,
                       const Rule& rule,
                       bool proves_note = false) {
    StoredLock after = before.state;
    Moment numbered = moment;
    numbered.numbers_writes = true;
    std::vector<OwnerId> renewed;
    const bool writes = rule(after, numbered, renewed);
    ZkChange change;
    add_zk_change(
        before, 0, after, {numbered, ZkLayout::curator, writes, proves_note, renewed}, change);
    return change;
  }

  std::string add(const std::string& name, const std::string& data = "10.0.0.1") {
    std::array<char, 16> digits{};
    (void)std::snprintf(digits.data(), digits.size(), "%010d", next_++);
    const std::string path = "/a/" + name + digits.data();
    ++zxid_;
    nodes_.push_back({.path = path,
                      .data = data,
                      .stat = {.czxid = zxid_, .mzxid = zxid_, .owner = k_session},
                      .place = *zk_place_of(ZkLayout::curator, path)});
    return path;
  }
  ZkContender& at_path(const std::string& path) {
    return *std::find_if(
        nodes_.begin(), nodes_.end(), [&](const auto& one) { return one.path == path; });
  }
  const std::vector<ZkContender>& all() const { return nodes_; }
  std::int64_t zxid() const { return zxid_; }

  std::optional<ZkNote> note;

 private:
  void carry_out(const ZkRequest& part) {
    if (part.op == ZkOp::create && part.path.starts_with("/a/")) {
      add(part.path.substr(3), part.data);
    } else if (part.op == ZkOp::set_data && part.path.starts_with("/a/")) {
      ZkContender& node = at_path(part.path);
      REQUIRE(part.version == node.stat.version);
      node.data = part.data;
      ++node.stat.version;
      node.stat.mzxid = ++zxid_;
    } else if (part.op == ZkOp::remove) {
      std::erase_if(nodes_, [&](const auto& one) { return one.path == part.path; });
    }
  }

  std::vector<ZkContender> nodes_;
  int next_ = 0;
  std::int64_t zxid_ = 100;
};

auto claiming(const Claim& claim, bool& granted) {
  return [&claim, &granted](StoredLock& state, const Moment& moment, auto& renewed) {
    const auto reply = acquire({&state}, claim, moment, Queueing::listening);
    granted = reply && std::holds_alternative<Grant>(*reply);
    if (granted) renewed = {std::get<Grant>(*reply).holds.front().owner};
    return granted;
  };
}

bool take(Folder& folder, const Claim& claim, Duration time = 1s) {
  bool granted = false;
  folder.step(at(time), claiming(claim, granted));
  return granted;
}

bool is_part(const ZkChange& change, ZkOp op, const std::string& path) {
  return std::any_of(change.parts.begin(), change.parts.end(), [&](const auto& part) {
    return part.op == op && part.path == path;
  });
}

// Checks the mode that the end of a node's name stands for.
void has_mode(ZkLayout layout, const std::string& node, Mode mode) {
  const auto place = zk_place_of(layout, node);
  CAPTURE(node);
  REQUIRE(place);
  CHECK(place->mode == mode);
  CHECK(place->number == 7);
}

}  // namespace

TEST_CASE("zookeeper: a node is of the lock by the end of its name, as the recipes call it") {
  const std::string uuid = "_c_3e7e9e5c-9b8e-4c1e-8f3a-1f0f7c1f2a3b-";
  has_mode(ZkLayout::curator, uuid + "lock-0000000007", Mode::plain);
  has_mode(ZkLayout::curator, uuid + "__WRIT__0000000007", Mode::exclusive);
  has_mode(ZkLayout::curator, uuid + "__READ__0000000007", Mode::shared);
  has_mode(ZkLayout::curator, uuid + "__SLOT__0000000007", Mode::slots);
  has_mode(ZkLayout::kazoo, "3e7e__lock__0000000007", Mode::exclusive);
  has_mode(ZkLayout::kazoo, "3e7e__rlock__0000000007", Mode::shared);
  for (const char* const other : {"0000000007",
                                  "lock-",
                                  "lock-000000007",
                                  "lock-00000000x7",
                                  "lock--000000007",
                                  "leases",
                                  "a__lock__0000000007"})
    CHECK_FALSE(zk_place_of(ZkLayout::curator, other));
  CHECK_FALSE(zk_place_of(ZkLayout::kazoo, uuid + "lock-0000000007"));
}

TEST_CASE("zookeeper: a new node has the name of its mode, and no other has it") {
  for (const ZkLayout layout : {ZkLayout::curator, ZkLayout::kazoo}) {
    for (const Mode mode : {Mode::plain, Mode::exclusive, Mode::shared, Mode::slots}) {
      const std::string node = zk_new_node(layout, mode);
      CHECK(node != zk_new_node(layout, mode));
      // In kazoo's layout a lock and a writer have one name.
      const bool same = layout == ZkLayout::kazoo && mode == Mode::plain;
      has_mode(layout, node + "0000000007", same ? Mode::exclusive : mode);
    }
  }
  // Python's and Go's recipes find the number behind the last of these.
  CHECK(zk_new_node(ZkLayout::curator, Mode::plain).ends_with("-lock-"));
  CHECK(zk_new_node(ZkLayout::kazoo, Mode::plain).find("__lock__") == 32);
}

TEST_CASE("zookeeper: a claim that is granted makes one node, whose zxid is its token") {
  Folder folder;
  bool granted = false;
  const Claim claim = claim_of("p", "t");
  const ZkChange change = folder.step(at(1s), claiming(claim, granted));
  CHECK(granted);
  REQUIRE(change.made.size() == 1);
  CHECK(change.made[0].holds);
  CHECK(change.parts.at(0).node == ZkNode::ephemeral_sequential);
  REQUIRE(folder.all().size() == 1);
  const ZkRow row = folder.row(at(2s).now);
  CHECK(row.state.leases.at("p").holds.begin()->second.token ==
        static_cast<FencingToken>(folder.zxid()));
}

TEST_CASE("zookeeper: waiters stand in the order of their numbers, and keep their nodes") {
  Folder folder;
  CHECK(take(folder, claim_of("p", "t")));
  CHECK_FALSE(take(folder, claim_of("q", "u")));
  CHECK_FALSE(take(folder, claim_of("r", "v")));
  const ZkRow row = folder.row(at(2s).now);
  REQUIRE(row.state.line.size() == 2);
  CHECK(row.state.line[0].id == "q#u");
  CHECK(row.state.line[1].id == "r#v");
  folder.step(at(3s), [](StoredLock& state, const Moment&, auto&) {
    state.leases.clear();
    return true;
  });
  bool granted = false;
  const Claim second = claim_of("q", "u");
  const ZkChange change = folder.step(at(3s), claiming(second, granted));
  CHECK(granted);
  CHECK(change.made.empty());
  CHECK(is_part(change, ZkOp::set_data, row.nodes[1].path));
  CHECK(change.renewed.contains(k_session));
  // A token grows with the write that grants, not with that which queued.
  CHECK(folder.row(at(4s).now).state.leases.at("q").holds.begin()->second.token ==
        static_cast<FencingToken>(folder.zxid()));
}

TEST_CASE("zookeeper: a waiter's try and a renewal compare their node, and write nothing") {
  Folder folder;
  take(folder, claim_of("p", "t"));
  take(folder, claim_of("q", "u"));
  bool granted = false;
  const Claim waiter = claim_of("q", "u");
  const ZkChange again = folder.step(at(2s), claiming(waiter, granted));
  REQUIRE(again.parts.size() == 1);
  CHECK(again.parts[0].op == ZkOp::check);
  CHECK(again.renewed.contains(k_session));
  const ZkChange renewal =
      folder.step(at(2s), [](StoredLock& state, const Moment& moment, auto& renewed) {
        const Hold hold = {.name = name_of("a"), .owner = "p", .serial = "t", .ttl = 10s};
        renewed = {"p"};
        return renew({&state}, {hold}, moment).verdict == RenewVerdict::renewed;
      });
  REQUIRE(renewal.parts.size() == 1);
  CHECK(renewal.parts[0].op == ZkOp::check);
  CHECK(renewal.parts[0].path == folder.all()[0].path);
  CHECK(renewal.renewed.at(k_session) == 10s);
}

TEST_CASE("zookeeper: a lease cannot outlast its session") {
  Folder folder;
  take(folder, claim_of("p", "t", 10s));
  const auto longer = [](Duration ttl) {
    return [ttl](StoredLock& state, const Moment& moment, auto& renewed) {
      const Hold hold = {.name = name_of("a"), .owner = "p", .serial = "t", .ttl = ttl};
      renewed = {"p"};
      return renew({&state}, {hold}, moment).verdict == RenewVerdict::renewed;
    };
  };
  CHECK(Folder::plan(folder.row(at(2s).now), at(2s), longer(11s)).longest == 10s);
  CHECK_FALSE(Folder::plan(folder.row(at(2s).now), at(2s), longer(9s)).longest);
}

TEST_CASE("zookeeper: who says too early that it holds is a waiter, and is told so") {
  Folder folder;
  // Two claims of one moment, of which neither sees the other.
  const ZkRow empty = folder.row(at(1s).now);
  bool granted = false;
  const Claim first = claim_of("p", "t");
  const Claim second = claim_of("q", "u");
  folder.step(at(1s), claiming(first, granted));
  const ZkChange late = Folder::plan(empty, at(1s), claiming(second, granted));
  CHECK(granted);
  const std::string path = folder.add(late.parts.at(0).path.substr(3), late.parts.at(0).data);
  const ZkRow row = folder.row(at(1s).now);
  CHECK(row.state.leases.contains("p"));
  CHECK_FALSE(row.state.leases.contains("q"));
  REQUIRE(row.state.line.size() == 1);
  CHECK(row.state.line[0].id == "q#u");
  std::vector<std::string> names;
  for (const ZkContender& node : folder.all())
    names.push_back(node.path.substr(3));
  CHECK(is_behind_others(empty, ZkLayout::curator, path, names));
  CHECK_FALSE(is_behind_others(empty, ZkLayout::curator, folder.all()[0].path, names));
  CHECK_FALSE(is_behind_others(row, ZkLayout::curator, path, names));
  // Its next try says that it waits, and it is granted in its turn.
  CHECK_FALSE(take(folder, second, 2s));
  CHECK(folder.row(at(2s).now).early.empty());
  folder.step(at(3s), [](StoredLock& state, const Moment&, auto&) {
    state.leases.clear();
    return true;
  });
  CHECK(take(folder, second, 3s));
}

TEST_CASE("zookeeper: who says that it holds behind a waiter does not") {
  Folder folder;
  take(folder, claim_as(Mode::shared, "p"));
  take(folder, claim_as(Mode::exclusive, "q"));
  const std::string json = folder.all()[0].data;
  folder.add("_c_x-__READ__", json);
  const ZkRow row = folder.row(at(2s).now);
  CHECK(row.holders.size() == 1);
  CHECK(row.holders.begin()->second == 0);
  CHECK(row.state.line.size() == 2);
}

TEST_CASE("zookeeper: two claims of one slot at one moment: the second has it not") {
  Folder folder;
  take(folder, claim_as(Mode::slots, "p"));
  const ZkRow seen = folder.row(at(1s).now);
  bool granted = false;
  const Claim one = claim_as(Mode::slots, "q");
  const Claim other = claim_as(Mode::slots, "r");
  folder.step(at(1s), claiming(one, granted));
  const ZkChange late = Folder::plan(seen, at(1s), claiming(other, granted));
  folder.add(late.parts.at(0).path.substr(3), late.parts.at(0).data);
  const ZkRow row = folder.row(at(1s).now);
  CHECK(row.state.leases.size() == 2);
  CHECK(row.state.line.at(0).id == "r#s-r");
}

TEST_CASE("zookeeper: a foreign node holds as the first, waits behind others, and is left alone") {
  Folder folder;
  const std::string first = folder.add("_c_x-lock-");
  const std::string second = folder.add("_c_y-lock-");
  CHECK_FALSE(take(folder, claim_of("q", "u")));
  ZkRow row = folder.row(at(60s).now);
  REQUIRE(row.state.foreign);
  CHECK(row.state.foreign->who == "_c_x-lock-0000000000 of 10.0.0.1");
  REQUIRE(row.state.line.size() == 2);
  CHECK(row.state.line[0].id == second);
  CHECK(row.state.line[0].alive_until > at(60s).now);
  // Only force-release --now removes it.
  const ZkChange change = folder.step(at(61s), [](StoredLock& state, const Moment& moment, auto&) {
    return revoke(state, {.by = "bob@ops", .now = true, .if_owner = {}, .if_token = {}}, moment)
               .verdict == RevokeVerdict::deleted;
  });
  CHECK(change.removed == std::vector{first});
}

TEST_CASE("zookeeper: foreign readers and ours hold beside each other, and no writer") {
  Folder folder;
  folder.add("_c_x-__READ__");
  CHECK(take(folder, claim_as(Mode::shared, "p")));
  CHECK_FALSE(take(folder, claim_as(Mode::exclusive, "w")));
  // Behind a writer that waits it waits as well, by Curator's rule and ours.
  folder.add("_c_y-__READ__");
  const ZkRow row = folder.row(at(2s).now);
  CHECK(row.state.foreign);
  CHECK(row.state.leases.contains("p"));
  CHECK(row.state.line.size() == 2);
  Folder other;
  other.add("_c_x-__WRIT__");
  CHECK_FALSE(take(other, claim_as(Mode::shared, "p")));
}

TEST_CASE("zookeeper: what Curator's Revoker writes is a revocation of what was there") {
  Folder folder;
  take(folder, claim_of("p", "t"));
  folder.at_path(folder.all()[0].path).revoked = true;
  const ZkRow row = folder.row(at(2s).now);
  CHECK(row.state.leases.at("p").revoked_by == "a Revoker of Curator");
  folder.at_path(folder.all()[0].path).data = k_zk_revoke;
  CHECK(folder.row(at(2s).now).state.foreign);
}

TEST_CASE("zookeeper: a grant that depends on the note proves it, or that there is none") {
  Folder folder;
  bool granted = false;
  const Claim claim = claim_of("p", "t");
  const ZkChange none =
      Folder::plan(folder.row(at(1s).now), at(1s), claiming(claim, granted), true);
  CHECK(none.makes_note);
  CHECK(is_part(none, ZkOp::create, "/dlock-done/a"));
  CHECK(is_part(none, ZkOp::remove, "/dlock-done/a"));
  StoredLock done;
  done.success = {1, 2};
  folder.note = ZkNote{contender::note_json(done), 5};
  const ZkChange some =
      Folder::plan(folder.row(at(1s).now), at(1s), claiming(claim, granted), true);
  CHECK(is_part(some, ZkOp::check, "/dlock-done/a"));
  const ZkChange plain = Folder::plan(folder.row(at(1s).now), at(1s), claiming(claim, granted));
  CHECK_FALSE(is_part(plain, ZkOp::check, "/dlock-done/a"));
}

TEST_CASE(
    "zookeeper: a change that grants says so, and fails if another has raised the epoch since") {
  Folder folder;
  bool granted = false;
  const Claim claim = claim_of("p", "t");
  ZkChange change = Folder::plan(folder.row(at(1s).now), at(1s), claiming(claim, granted));
  CHECK(change.grants);
  add_zk_epoch("/dlock-done", {.value = 1000, .version = 3}, 1000, change);
  CHECK(is_part(change, ZkOp::check, "/dlock-done"));
  CHECK(change.parts.back().version == 3);
  CHECK_FALSE(change.makes_note);
  add_zk_epoch("/dlock-done", {}, 2000, change);
  CHECK(is_part(change, ZkOp::set_data, "/dlock-done"));
  CHECK(change.parts.back().version == 0);
  CHECK(change.parts.back().data == "2000");
  CHECK(change.makes_note);
  take(folder, claim);
  const Claim other = claim_of("q", "u");
  CHECK_FALSE(Folder::plan(folder.row(at(1s).now), at(1s), claiming(other, granted)).grants);
}

TEST_CASE("zookeeper: what is read and not changed is proved by comparing who holds") {
  Folder folder;
  take(folder, claim_of("p", "t"));
  ZkChange change;
  add_zk_proof({folder.row(at(1s).now)}, change);
  CHECK(is_part(change, ZkOp::check, folder.all()[0].path));
  ZkChange free;
  add_zk_proof({Folder().row(at(1s).now)}, free);
  CHECK(is_part(free, ZkOp::check, "/a"));
}

}  // namespace dlock::lease_table
