// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_row.hpp"

#include "base/random.hpp"
#include "store/record_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <tuple>
#include <utility>

namespace dlock {

using lease_table::Lease;
using lease_table::Place;
using lease_table::StoredLock;
using lease_table::StoreTime;

namespace {

struct NodeName {
  ZkLayout layout;
  std::string_view end;  // the text before the number
  Mode mode;
};
// How the names of nodes end: one entry for each layout and mode. If two entries of a layout have
// the same end, a node with that end is read as the mode of the first entry.
constexpr std::array<NodeName, 8> k_names{{
    {ZkLayout::curator, "lock-", Mode::plain},
    {ZkLayout::curator, "__WRIT__", Mode::exclusive},
    {ZkLayout::curator, "__READ__", Mode::shared},
    {ZkLayout::curator, "__SLOT__", Mode::slots},
    {ZkLayout::kazoo, "__rlock__", Mode::shared},
    {ZkLayout::kazoo, "__lock__", Mode::exclusive},
    {ZkLayout::kazoo, "__lock__", Mode::plain},
    {ZkLayout::kazoo, "__slot__", Mode::slots},
}};
constexpr std::size_t k_digits = 10;

bool has_slot(const StoredLock& state, std::optional<std::uint32_t> slot) {
  return std::any_of(state.leases.begin(), state.leases.end(), [&](const auto& one) {
    return one.second.holds.begin()->second.slot == slot;
  });
}

Place place_of(const contender::Holder& holder, Mode mode, StoreTime now) {
  const HoldRecord& hold = holder.lease.holds.begin()->second;
  return {.id = hold.id,
          .arrival_us = 0,
          .alive_until = now + contender::k_seen_alive,
          .waiter = Waiter{.who = hold.who,
                           .since_ms = hold.since_ms,
                           .mode = mode,
                           .slots = mode == Mode::slots ? holder.slots : 0}};
}

// Reads the nodes of a row (zk_row.hpp) one by one, in the order of arrival.
class RowReader {
 public:
  RowReader(ZkRow& row, StoreTime now) : row_(row), now_(now) {}

  void take(std::size_t index) {
    const ZkContender& node = row_.nodes[index];
    auto holder =
        contender::parse_lease(node.data, static_cast<FencingToken>(node.stat.mzxid), now_);
    if (holder) {
      take_holder(index, std::move(*holder));
    } else if (auto place =
                   contender::parse_waiter(node.data, {node.stat.czxid, node.stat.mzxid}, now_)) {
      wait(index, std::move(*place));
    } else if (node.unread) {
      wait(index, {.id = node.path, .alive_until = now_ + contender::k_seen_alive});
    } else {
      take_foreign(index);
    }
  }

 private:
  void take_holder(std::size_t index, contender::Holder holder) {
    const Mode mode = lease_table::mode_of(holder.lease);
    const bool has_room =
        !waited_ && lease_table::has_room(row_.state, mode, holder.slots) &&
        (mode != Mode::slots || !has_slot(row_.state, holder.lease.holds.begin()->second.slot));
    if (!has_room) {
      row_.early.insert(index);
      wait(index, place_of(holder, mode, now_));
      return;
    }
    if (row_.nodes[index].revoked) holder.lease.revoked_by = "a Revoker of Curator";
    row_.state.slots = std::max(row_.state.slots, holder.slots);
    row_.holders.emplace(holder.owner, index);
    row_.state.leases.emplace(std::move(holder.owner), std::move(holder.lease));
  }

  void take_foreign(std::size_t index) {
    const ZkContender& node = row_.nodes[index];
    row_.state.layout = std::max(row_.state.layout, layout_of(node.data));
    const std::string name = node.path.substr(node.path.rfind('/') + 1);
    const std::string who = node.data.empty() ? name : name + " of " + node.data;
    if (!waited_ && lease_table::has_room(row_.state, node.place.mode, 0)) {
      row_.foreign.push_back(index);
      if (!row_.state.foreign)
        row_.state.foreign = {.type = "ZooKeeper node",
                              .who = who,
                              .endless = node.stat.owner == 0,  // no session ends it
                              .shared = node.place.mode == Mode::shared};
      return;
    }
    wait(index,
         {.id = node.path,
          .alive_until = now_ + contender::k_seen_alive,
          .waiter = Waiter{.who = {.command = "ZooKeeper node " + who}, .mode = node.place.mode}});
  }

  void wait(std::size_t index, Place place) {
    place.arrival_us = row_.nodes[index].stat.czxid;
    waited_ = true;
    row_.waiters.emplace(place.id, index);
    row_.state.line.push_back(std::move(place));
  }

  ZkRow& row_;
  const StoreTime now_;
  bool waited_ = false;
};

// Adds the changes of one lock to a ZkChange.
class RowWriter {
 public:
  RowWriter(const ZkRow& before,
            std::size_t which,
            const StoredLock& after,
            const ZkStep& step,
            ZkChange& change)
      : before_(before), which_(which), after_(after), step_(step), change_(change) {}

  void write() {
    for (const auto& [owner, lease] : after_.leases)
      if (step_.writes) write_holder(owner, lease);
    for (const auto& [owner, index] : before_.holders)
      if (step_.writes && !after_.leases.contains(owner)) drop(index);
    for (const std::size_t index : before_.foreign)
      if (step_.writes && !after_.foreign) drop(index);
    for (const Place& place : after_.line)
      write_place(place);
    for (const auto& [id, index] : before_.waiters)
      if (lease_table::number_of(after_.line, id) == 0 && !taken_.contains(index)) drop(index);
    if (step_.writes) write_note();
    if (grants_ && step_.proves_note) prove_note();
    change_.grants = change_.grants || grants_;
  }

 private:
  bool is_renewed(const OwnerId& owner) const {
    return std::find(step_.renewed.begin(), step_.renewed.end(), owner) != step_.renewed.end();
  }

  void write_holder(const OwnerId& owner, const Lease& lease) {
    const auto at = before_.holders.find(owner);
    const Duration ttl = lease.expires - step_.moment.now;
    if (at == before_.holders.end()) {
      grants_ = true;
      std::string json = contender::lease_json(owner, lease, ttl, after_.slots, step_.epoch);
      if (const auto place = contender::waiter_of(lease, before_.waiters)) {
        set(*place, std::move(json));
        renew(*place, Duration::zero());
      } else {
        make(lease_table::mode_of(lease), std::move(json), /*holds=*/true);
      }
      return;
    }
    const Lease& old = before_.state.leases.at(owner);
    const Duration asked = old.expires - step_.moment.now;
    if (ttl > asked) change_.longest = std::min(change_.longest.value_or(asked), asked);
    std::string json = contender::lease_json(owner, lease, asked, after_.slots);
    const bool differs = json != contender::lease_json(owner, old, asked, before_.state.slots);
    if (differs) set(at->second, std::move(json));
    if (!is_renewed(owner)) return;
    if (!differs) check(at->second);
    renew(at->second, asked);
  }

  void write_place(const Place& place) {
    const auto at = before_.waiters.find(place.id);
    if (at == before_.waiters.end()) return make_place(place);
    switch (const auto step = contender::entry_step(place, before_.state)) {
      case contender::EntryStep::keep:
        return;
      case contender::EntryStep::rewrite:
      case contender::EntryStep::renew:
        if (step == contender::EntryStep::rewrite || before_.early.contains(at->second))
          set(at->second, place_json(place));
        else
          check(at->second);
        return renew(at->second, Duration::zero());
      case contender::EntryStep::replace:
        drop(at->second);
        return make_place(place);
    }
  }

  void make_place(const Place& place) {
    make(place.waiter->mode, place_json(place), /*holds=*/false);
  }

  void write_note() {
    const std::string now = contender::has_note(after_) ? contender::note_json(after_) : "";
    if (now == (before_.note ? before_.note->data : "")) return;
    proved_ = true;
    ZkRequest& part = change_.parts.emplace_back();
    part.path = before_.note_path;
    part.data = now;
    part.op = now.empty() ? ZkOp::remove : before_.note ? ZkOp::set_data : ZkOp::create;
    if (before_.note)
      part.version = before_.note->version;
    else
      change_.makes_note = true;
  }

  // Adds the condition that the note of the lock (its last success) is as it was read. If there was
  // no note, the change creates it and removes it again, which fails if the note exists now.
  void prove_note() {
    if (proved_) return;
    if (before_.note) {
      change_.parts.push_back(
          {.op = ZkOp::check, .path = before_.note_path, .version = before_.note->version});
      return;
    }
    change_.makes_note = true;
    change_.parts.push_back({.op = ZkOp::create, .path = before_.note_path});
    change_.parts.push_back({.op = ZkOp::remove, .path = before_.note_path});
  }

  void make(Mode mode, std::string data, bool holds) {
    change_.made.push_back({change_.parts.size(), which_, holds});
    change_.parts.push_back({.op = ZkOp::create,
                             .path = before_.folder + '/' + zk_new_node(step_.layout, mode),
                             .data = std::move(data),
                             .node = ZkNode::ephemeral_sequential});
  }

  void set(std::size_t index, std::string data) {
    ZkRequest part = touch(ZkOp::set_data, index);
    part.data = std::move(data);
    change_.parts.push_back(std::move(part));
  }
  void check(std::size_t index) { change_.parts.push_back(touch(ZkOp::check, index)); }
  void drop(std::size_t index) {
    change_.parts.push_back(touch(ZkOp::remove, index));
    change_.removed.push_back(before_.nodes[index].path);
  }
  ZkRequest touch(ZkOp op, std::size_t index) {
    taken_.insert(index);
    const ZkContender& node = before_.nodes[index];
    return {.op = op, .path = node.path, .version = node.stat.version};
  }

  void renew(std::size_t index, Duration made_for) {
    Duration& longest = change_.renewed[before_.nodes[index].stat.owner];
    longest = std::max(longest, made_for);
  }

  const ZkRow& before_;
  const std::size_t which_;
  const StoredLock& after_;
  const ZkStep& step_;
  ZkChange& change_;
  std::set<std::size_t> taken_;  // nodes whose version the change already compares
  bool grants_ = false;
  bool proved_ = false;  // the change already fails if the note has changed
};

}  // namespace

std::optional<ZkPlace> zk_place_of(ZkLayout layout, std::string_view node) {
  if (node.size() <= k_digits) return std::nullopt;
  const std::string_view digits = node.substr(node.size() - k_digits);
  ZkPlace place;
  const auto read = std::from_chars(digits.begin(), digits.end(), place.number);
  if (read.ec != std::errc{} || read.ptr != digits.end() || digits.front() == '-')
    return std::nullopt;
  node.remove_suffix(k_digits);
  const auto* const name = std::find_if(k_names.begin(), k_names.end(), [&](const auto& one) {
    return one.layout == layout && node.ends_with(one.end);
  });
  if (name == k_names.end()) return std::nullopt;
  place.mode = name->mode;
  return place;
}

std::string zk_new_node(ZkLayout layout, Mode mode) {
  const auto* const name = std::find_if(k_names.begin(), k_names.end(), [&](const auto& one) {
    return one.layout == layout && one.mode == mode;
  });
  constexpr std::size_t k_uuid = 36;
  constexpr std::size_t k_bytes = 16;
  if (layout == ZkLayout::kazoo) return random_hex(k_bytes) + std::string(name->end);
  return "_c_" + make_owner_id(0).substr(0, k_uuid) + '-' + std::string(name->end);
}

void read_zk_row(ZkRow& row, StoreTime now) {
  const auto by_arrival = [](const ZkContender& one) {
    return std::tuple(one.place.number, one.stat.czxid);
  };
  std::sort(row.nodes.begin(), row.nodes.end(), [&](const auto& a, const auto& b) {
    return by_arrival(a) < by_arrival(b);
  });
  RowReader reader(row, now);
  for (std::size_t i = 0; i < row.nodes.size(); ++i)
    reader.take(i);
  if (row.note) contender::take_note(row.note->data, row.state);
}

bool may_be_passed_over(const ZkRow& row) {
  if (row.state.line.empty()) return false;
  const std::string& id = row.state.line.front().id;
  const std::size_t index = row.waiters.at(id);
  // The id of a foreign waiter is the path of its node.
  return !row.early.contains(index) && id != row.nodes[index].path;
}

void add_zk_change(const ZkRow& before,
                   std::size_t which,
                   const StoredLock& after,
                   const ZkStep& step,
                   ZkChange& change) {
  RowWriter(before, which, after, step, change).write();
}

// If the folder of notes is missing (its epoch was read as 0), the caller creates it with version 0
// and without data, which fits the condition.
void add_zk_epoch(const std::string& folder,
                  const contender::Epoch& read,
                  std::int64_t wanted,
                  ZkChange& change) {
  ZkRequest part{
      .op = ZkOp::check, .path = folder, .version = static_cast<std::int32_t>(read.version)};
  if (wanted != read.value) {
    part.op = ZkOp::set_data;
    part.data = contender::Epoch{.value = wanted}.text();
  }
  if (read.value == 0) change.makes_note = true;
  change.parts.push_back(std::move(part));
}

void add_zk_proof(const std::vector<ZkRow>& rows, ZkChange& change) {
  const auto check = [&](const std::string& path, std::int32_t version) {
    change.parts.push_back({.op = ZkOp::check, .path = path, .version = version});
  };
  for (const ZkRow& row : rows) {
    for (const auto& [owner, index] : row.holders)
      check(row.nodes[index].path, row.nodes[index].stat.version);
    for (const std::size_t index : row.foreign)
      check(row.nodes[index].path, row.nodes[index].stat.version);
    if (row.has_folder && row.holders.empty() && row.foreign.empty())
      check(row.folder, ZkRequest::k_any_version);
  }
  if (change.parts.empty()) check(rows.front().folder, ZkRequest::k_any_version);
}

bool is_behind_others(const ZkRow& row,
                      ZkLayout layout,
                      const std::string& path,
                      const std::vector<std::string>& children) {
  const auto own = zk_place_of(layout, path);
  return std::any_of(children.begin(), children.end(), [&](const std::string& child) {
    const auto place = zk_place_of(layout, child);
    if (!place || row.folder + '/' + child == path) return false;
    if (own && place->number > own->number) return false;
    return std::none_of(row.nodes.begin(), row.nodes.end(), [&](const ZkContender& known) {
      return known.path == row.folder + '/' + child;
    });
  });
}

}  // namespace dlock
