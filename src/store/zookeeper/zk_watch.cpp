// SPDX-License-Identifier: MIT
// The part of ZkStore that waits for changes.
#include "store/server_search.hpp"
#include "store/zookeeper/zk_store.hpp"
#include "sys/poll_limit.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlock {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How many waiters of a lock keep a connection. A server accepts only 60 connections from one
// machine (maxClientCnxns).
constexpr int k_connected_waiters = 12;
// A waiter farther back in line has no connection, but reads the line again after a pause:
// k_look_for_each_place for each waiter between it and those with a connection. While the line does
// not move, each pause is twice the last. No pause is longer than k_longest_look.
constexpr Duration k_look_for_each_place = milliseconds(20);
constexpr Duration k_longest_look = lease_table::k_turn / 2;

}  // namespace

bool ZkStore::is_ours(const std::string& id) const {
  return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
}

// Returns the nodes to watch. A waiter watches its own node and the two nodes before it. One of the
// first two waiters watches its own node and all nodes before it. A holder watches its own node. A
// bystander (`dlock wait`) watches the nodes of all holders and of the first waiter.
std::vector<std::size_t> ZkStore::watched_of(const ZkRow& row) const {
  std::vector<std::size_t> all;
  const auto waits = std::find_if(
      row.waiters.begin(), row.waiters.end(), [&](const auto& one) { return is_ours(one.first); });
  if (waits != row.waiters.end()) {
    const bool is_near = lease_table::number_of(row.state.line, waits->first) <= 2;
    for (std::size_t i = is_near ? 0 : waits->second - 2; i <= waits->second; ++i)
      all.push_back(i);
    return all;
  }
  for (const auto& [owner, index] : row.holders) {
    const auto& holds = row.state.leases.at(owner).holds;
    if (std::any_of(
            holds.begin(), holds.end(), [&](const auto& hold) { return is_ours(hold.second.id); }))
      return {index};
    all.push_back(index);
  }
  all.insert(all.end(), row.foreign.begin(), row.foreign.end());
  if (!row.state.line.empty()) all.push_back(row.waiters.at(row.state.line.front().id));
  return all;
}

ZkTable::Extent ZkStore::extent_of(const std::vector<LockName>& names) const {
  const bool is_of_claim = std::all_of(
      ids_.begin(), ids_.end(), [&](const auto& id) { return is_hold_of(id, table_.owner()); });
  if (names != watched_ || !is_of_claim) return ZkTable::k_everything;
  return {.only_before_us = true, .most = k_connected_waiters + holding_};
}

void ZkStore::note_look(const ZkTable::Rows& rows) {
  seen_.clear();
  std::uint64_t nearest = 0;
  std::size_t holding = 0;
  bool is_whole = true;
  for (const ZkRow& row : rows.rows) {
    for (const std::size_t index : watched_of(row))
      seen_ += row.nodes[index].path + ' ' + std::to_string(row.nodes[index].stat.version) + '\n';
    // If the nodes were not read (ZkContender::unread), the row lists holders as waiters, too.
    const bool was_read = row.nodes.empty() || !row.nodes.front().unread;
    is_whole = is_whole && was_read;
    holding = std::max(holding, row.holders.size() + row.foreign.size());
    for (const auto& [id, index] : row.waiters) {
      if (!is_ours(id)) continue;
      const auto before = static_cast<std::uint64_t>(was_read ? 0 : holding_);
      const std::uint64_t place =
          std::max<std::uint64_t>(lease_table::number_of(row.state.line, id), before + 1) - before;
      if (nearest == 0 || place < nearest) nearest = place;
    }
  }
  if (is_whole) holding_ = static_cast<int>(holding);
  far_ = nearest > k_connected_waiters;
  const auto behind = static_cast<Duration::rep>(nearest - k_connected_waiters);
  if (far_)
    next_look_ = std::min(nearest == place_ ? 2 * next_look_ : behind * k_look_for_each_place,
                          k_longest_look);
  place_ = nearest;
}

// Reads the watched locks, and sets watches on their nodes. If a node has changed between the two,
// does both again.
Result<void> ZkStore::arm(Time limit) {
  for (int changes = 1;; ++changes) {
    armed_for_.reset();
    armed_at_ = BootClock::now();
    const auto rows = seen(table_.look(watched_, extent_of(watched_), limit), watched_);
    if (!rows) return rows.error();
    std::vector<ZkRequest> watches;
    std::vector<const ZkContender*> nodes;
    for (const ZkRow& row : rows->rows) {
      for (const std::size_t index : watched_of(row)) {
        nodes.push_back(&row.nodes[index]);
        watches.push_back({.op = ZkOp::exists, .path = nodes.back()->path, .watch = true});
      }
    }
    if (far_) return {};
    const auto answers =
        watches.empty() ? std::vector<ZkAnswer>() : zk_answers_of(table_.looker(), watches, limit);
    if (!answers) return answers.error();
    bool same = answers->size() == watches.size();
    for (std::size_t i = 0; same && i < watches.size(); ++i)
      same = (*answers)[i].code == ZkCode::ok &&
             (nodes[i]->unread || (*answers)[i].stat.version == nodes[i]->stat.version);
    if (same) {
      armed_for_ = seen_;
      armed_on_ = table_.looker().attached_at();
      return {};
    }
    if (BootClock::now() >= limit) return contender::outpaced(where(), changes);
  }
}

Result<void> ZkStore::watch_rows(const std::vector<LockName>& names,
                                 const std::vector<std::string>& ids,
                                 Time limit) {
  watched_ = names;
  ids_ = ids;
  return arm(limit);
}

std::optional<Duration> ZkStore::looks_every(Watcher who, std::uint64_t /*place*/) const {
  if (who != Watcher::waiter || !far_) return std::nullopt;
  return next_look_;
}

Result<bool> ZkStore::await_change(Time until) {
  for (;;) {
    const Time now = BootClock::now();
    // The waiter's heartbeats are too rare to keep alive a session of a few seconds, so the session
    // is renewed here.
    const Time keep_at = place_ > 0 ? table_.keep_at() : Time::max();
    if (now >= keep_at) {
      if (auto kept = table_.keep(now + seconds(1)); !kept) return kept.error();
      continue;
    }
    if (far_) {
      table_.looker().disconnect();
      if (auto paused = pause(std::min(until, keep_at)); !paused) return paused.error();
      if (BootClock::now() >= until) return false;
      continue;
    }
    ZkSession& looker = table_.looker();
    // If the reading session (the looker) sends no request for its whole timeout, it ends with its
    // watches.
    const Time stale = armed_at_ + looker.timeout() / 3;
    if (armed_for_ != seen_ || armed_on_ != looker.attached_at() || now >= stale) {
      const std::string before = seen_;
      if (auto done = arm(std::max(until, now + seconds(1))); !done) return done.error();
      if (seen_ != before) return true;
      continue;
    }
    const auto event = looker.await_event(std::min({until, stale, keep_at}));
    if (!event && event.error().code == Errc::cancelled) return event.error();
    if (!event) {
      armed_for_.reset();  // the connection is gone, with its watches
    } else if (*event) {
      looker.take_events();
      armed_for_.reset();
      return true;
    }
    if (BootClock::now() >= until) return false;
  }
}

Result<void> ZkStore::pause(Time until) const {
  for (Time now = BootClock::now(); now < until; now = BootClock::now()) {
    pollfd wait = polled(interrupt_);
    ::poll(&wait, 1, poll_ms(until, now));
    if (ends_call(interrupt_, wait)) return stopped_waiting(where());
  }
  return {};
}

}  // namespace dlock
