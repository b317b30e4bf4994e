// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_row.hpp"

#include "store/record_json.hpp"
#include "store/table/contender.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace dlock {

using lease_table::Lease;
using lease_table::Moment;
using lease_table::Place;
using lease_table::StoredLock;
using lease_table::StoreTime;

namespace {

using Number = EtcdCompare::Number;
using Relation = EtcdCompare::Relation;

constexpr std::string_view k_notes = "dlock-done/";

bool is_lease_digits(std::string_view text) {
  constexpr std::string_view k_digits = "0123456789abcdef";
  constexpr std::size_t k_most = 16;
  return !text.empty() && text.size() <= k_most &&
         text.find_first_not_of(k_digits) == std::string_view::npos;
}

Duration note_life(const StoredLock& state, const Moment& moment) {
  constexpr auto k_day = std::chrono::hours(24);
  const std::int64_t now = lease_table::wall_ms(moment);
  Duration life = state.released.empty() ? Duration(std::chrono::seconds(1)) : Duration(k_day);
  if (state.success)
    life = std::max<Duration>(life, std::chrono::milliseconds(state.success->until_ms - now));
  if (state.last)
    life = std::max<Duration>(life, std::chrono::milliseconds(state.last->until_ms - now));
  if (const auto left = lease_table::freeze_left(state, moment))
    life = std::max<Duration>(life, *left);
  return life;
}

// Adds to the row a key that another program or a newer dlock has written, as its value shows. Such
// a key holds the lock if it is the first key; otherwise it waits in line.
void take_foreign(EtcdRow& row, std::size_t index, StoreTime now) {
  const EtcdKey& key = row.keys[index];
  row.state.layout = std::max(row.state.layout, layout_of(key.value));
  if (index == 0) {
    row.foreign = index;
    row.state.foreign = {.type = "etcd key", .who = key.key, .endless = key.lease == 0};
    return;
  }
  row.waiters.emplace(key.key, index);
  row.state.line.push_back({.id = key.key,
                            .arrival_us = key.created,
                            .alive_until = now + contender::k_seen_alive,
                            .waiter = Waiter{.who = {.command = "etcd key " + key.key}}});
}

bool take_holder(EtcdRow& row, std::size_t index, StoreTime now) {
  const EtcdKey& key = row.keys[index];
  auto holder = contender::parse_lease(key.value, static_cast<FencingToken>(key.modified), now);
  if (!holder) return false;
  row.state.slots = std::max(row.state.slots, holder->slots);
  row.holders.emplace(holder->owner, index);
  row.state.leases.emplace(std::move(holder->owner), std::move(holder->lease));
  return true;
}

bool take_waiter(EtcdRow& row, std::size_t index, StoreTime now) {
  const EtcdKey& key = row.keys[index];
  auto place = contender::parse_waiter(key.value, {key.created, key.modified}, now);
  if (!place) return false;
  row.waiters.emplace(place->id, index);
  row.state.line.push_back(std::move(*place));
  return true;
}

// Adds the changes of one lock to an EtcdChange.
class Writer {
 public:
  Writer(const EtcdRow& before, const StoredLock& after, const EtcdStep& step, EtcdChange& change)
      : before_(before), after_(after), step_(step), change_(change) {}

  void write() {
    for (const auto& [owner, lease] : after_.leases)
      if (step_.writes) write_holder(owner, lease);
    for (const auto& [owner, index] : before_.holders)
      if (step_.writes && !after_.leases.contains(owner)) drop(index);
    if (step_.writes && before_.foreign && !after_.foreign) drop_foreign(*before_.foreign);
    for (const Place& place : after_.line)
      write_place(place);
    for (const auto& [id, index] : before_.waiters)
      if (lease_table::number_of(after_.line, id) == 0 && !taken_.contains(index)) drop(index);
    if (step_.writes) write_note();
    if (makes_holder_ || step_.proves_note) compare_note();
    if (makes_ || step_.proves)
      compare_all(Number::modified, Relation::less, step_.revision + 1);
    else if (turn_of_)
      compare_all(Number::created, Relation::greater, turn_of_->created - 1);
  }

 private:
  bool is_renewed(const OwnerId& owner) const {
    return std::find(step_.renewed.begin(), step_.renewed.end(), owner) != step_.renewed.end();
  }

  // Returns whether the key with this index is the first one of a lock that is free, so that only
  // an older key could keep its waiter from the lock.
  bool is_first_of_free(std::size_t index) const {
    return step_.ignores_later && index == 0 && before_.holders.empty() && !before_.shares_range &&
           !before_.state.frozen;
  }

  // Returns whether the claim waits whatever comes before it: it takes the lock alone, and there
  // are others.
  bool is_sure_to_wait(const Place& place) const {
    return step_.ignores_later && place.waiter->mode < Mode::shared && !before_.keys.empty();
  }

  void write_holder(const OwnerId& owner, const Lease& lease) {
    const auto at = before_.holders.find(owner);
    const Duration ttl = lease.expires - step_.moment.now;
    if (at == before_.holders.end()) {
      makes_holder_ = true;
      change_.grants = change_.grants || !is_kept(lease);  // a freeze's lease has no token
      const auto place = contender::waiter_of(lease, before_.waiters);
      const EtcdLease own = grant(ttl);
      std::string key = before_.lock + '/' + lease_digits(own);
      if (place) {
        key = before_.keys[*place].key;
        change_.left.push_back(before_.keys[*place].lease);
        touch(*place);
      }
      if (place && is_first_of_free(*place))
        turn_of_ = before_.keys[*place];
      else
        makes_ = true;
      put(std::move(key), contender::lease_json(owner, lease, ttl, after_.slots, step_.epoch), own);
      return;
    }
    const EtcdKey& key = before_.keys[at->second];
    const Lease& old = before_.state.leases.at(owner);
    const Duration asked = old.expires - step_.moment.now;
    const bool moves = step_.moves && is_renewed(owner);
    const bool other_life =
        moves || ttl > asked || (is_kept(lease) && !is_kept(old)) || key.lease == 0;
    change_.moves = change_.moves || moves;
    EtcdLease own = key.lease;
    if (other_life)
      own = grant(ttl);
    else if (is_renewed(owner))
      change_.leases.emplace_back(EtcdKeepAlive{own});
    std::string json = contender::lease_json(owner, lease, other_life ? ttl : asked, after_.slots);
    const bool differs = json != contender::lease_json(owner, old, asked, before_.state.slots);
    if (!differs && !other_life && !is_renewed(owner)) return;
    touch(at->second);
    if (differs || other_life) put(key.key, std::move(json), own);
    if (other_life && key.lease != 0) change_.left.push_back(key.lease);
  }

  void write_place(const Place& place) {
    const auto at = before_.waiters.find(place.id);
    if (at == before_.waiters.end()) return make_place(place);
    const EtcdKey& key = before_.keys[at->second];
    switch (contender::entry_step(place, before_.state)) {
      case contender::EntryStep::keep:
        return;
      case contender::EntryStep::rewrite:
        put(key.key, key.value, key.lease);
        [[fallthrough]];
      case contender::EntryStep::renew:
        change_.leases.emplace_back(EtcdKeepAlive{key.lease});
        return touch(at->second);
      case contender::EntryStep::replace:
        drop(at->second);
        return make_place(place);
    }
  }

  void make_place(const Place& place) {
    const bool follows = is_sure_to_wait(place);
    const EtcdLease own =
        grant(lease_table::k_line_life, follows ? step_.line_lease : new_etcd_lease());
    std::string key = before_.lock + '/' + lease_digits(own);
    if (follows) compare({key}, Number::created, Relation::equal, 0);
    (follows ? change_.joins : makes_) = true;
    put(std::move(key), place_json(place), own);
  }

  void write_note() {
    const auto text_of = [](const StoredLock& state) {
      return contender::has_note(state) ? contender::note_json(state) : "";
    };
    const std::string now = text_of(after_);
    if (now == text_of(before_.state)) return;
    const std::string key = note_of_lock(before_.lock);
    if (!makes_holder_) compare_note();
    if (now.empty())
      change_.txn.then.emplace_back(EtcdDelete{{key}});
    else
      put(key, now, grant(note_life(after_, step_.moment)));
    if (before_.note && before_.note->lease != 0) change_.left.push_back(before_.note->lease);
  }

  // Adds the condition that the note of the lock (its last success, and released holds of
  // `acquire`) is unchanged since the row was read.
  void compare_note() {
    compare({note_of_lock(before_.lock)},
            Number::modified,
            Relation::equal,
            before_.note ? before_.note->modified : 0);
  }

  void compare_all(Number number, Relation relation, std::int64_t than) {
    compare(keys_of_lock(before_.lock), number, relation, than);
  }

  void compare(EtcdRange range, Number number, Relation relation, std::int64_t than) {
    change_.txn.compares.push_back(
        {.range = std::move(range), .number = number, .relation = relation, .than = than});
  }

  void drop(std::size_t index) {
    const EtcdKey& key = before_.keys[index];
    touch(index);
    change_.txn.then.emplace_back(EtcdDelete{{key.key}});
    if (key.lease != 0) change_.left.push_back(key.lease);
  }

  // Deletes a foreign key. Its lease is not revoked, as other keys may have the same lease.
  void drop_foreign(std::size_t index) {
    touch(index);
    change_.txn.then.emplace_back(EtcdDelete{{before_.keys[index].key}});
  }

  void touch(std::size_t index) {
    taken_.insert(index);
    const EtcdKey& key = before_.keys[index];
    compare({key.key}, Number::modified, Relation::equal, key.modified);
  }

  EtcdLease grant(Duration ttl, EtcdLease own = new_etcd_lease()) {
    change_.leases.emplace_back(EtcdGrant{own, ttl});
    return own;
  }

  void put(std::string key, std::string value, EtcdLease lease) {
    change_.txn.then.emplace_back(EtcdPut{std::move(key), std::move(value), lease});
  }

  const EtcdRow& before_;
  const StoredLock& after_;
  const EtcdStep& step_;
  EtcdChange& change_;
  std::set<std::size_t> taken_;  // indices of keys that are already compared
  bool makes_ = false;           // needs that no key of the lock was added or changed
  bool makes_holder_ = false;    // creates a holder
  // The key of the first waiter, which takes the free lock.
  std::optional<EtcdKey> turn_of_;
};

}  // namespace

// Returns a range that has all keys of the lock, whose names are the lock's name, a '/' and
// hexadecimal digits. It also has some keys of other locks, whose names begin with this lock's name
// and a '/'; row_of() removes these.
EtcdRange keys_of_lock(const std::string& lock) {
  return {.first = lock + "/0", .end = lock + "/g"};
}

std::string note_of_lock(const std::string& lock) {
  return std::string(k_notes) + lock;
}

std::optional<std::string> lock_of_key(std::string_view key) {
  const auto slash = key.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  if (!is_lease_digits(key.substr(slash + 1))) return std::nullopt;
  return std::string(key.substr(0, slash));
}

EtcdRow row_of(std::string lock,
               std::vector<EtcdKey> keys,
               const std::vector<EtcdKey>& note,
               StoreTime now) {
  const bool shares_range =
      std::erase_if(keys, [&](const EtcdKey& one) { return lock_of_key(one.key) != lock; }) > 0;
  // `keys` are in the order of creation; keys that one transaction created share a revision, and
  // are in the order of their names.
  EtcdRow row{.lock = std::move(lock), .keys = std::move(keys), .shares_range = shares_range};
  for (std::size_t i = 0; i < row.keys.size(); ++i)
    if (!take_holder(row, i, now) && !take_waiter(row, i, now)) take_foreign(row, i, now);
  if (note.empty()) return row;
  row.note = note.front();
  contender::take_note(row.note->value, row.state);
  return row;
}

void add_change(const EtcdRow& before,
                const StoredLock& after,
                const EtcdStep& step,
                EtcdChange& change) {
  Writer(before, after, step, change).write();
}

void add_etcd_epoch(const contender::Epoch& read, std::int64_t wanted, EtcdChange& change) {
  const std::string key(k_etcd_epoch);
  change.txn.compares.push_back({.range = {key},
                                 .number = Number::modified,
                                 .relation = Relation::equal,
                                 .than = read.version});
  if (wanted != read.value)
    change.txn.then.emplace_back(EtcdPut{key, contender::Epoch{.value = wanted}.text()});
}

}  // namespace dlock
