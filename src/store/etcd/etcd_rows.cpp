// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_rows.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dlock {
namespace {

bool is_among(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Returns whether the waiter in this row takes its lock alone, once all keys before its own are
// gone, and whether no later claim makes it give up.
bool waits_for_all_before(const EtcdRow& row, std::size_t ours, std::size_t place) {
  const lease_table::Place& one = row.state.line[place];
  return one.waiter->mode < Mode::shared && one.waiter->who.supersede == Supersede::nothing &&
         std::all_of(row.holders.begin(), row.holders.end(), [&](const auto& holder) {
           return holder.second < ours;
         });
}

}  // namespace

EtcdReading::EtcdReading(std::vector<LockName> names,
                         std::vector<std::string> ids,
                         std::vector<std::optional<EtcdLine>> known,
                         bool with_epoch)
    : names_(std::move(names)),
      ids_(std::move(ids)),
      known_(std::move(known)),
      with_epoch_(with_epoch) {
  known_.resize(names_.size());
}

std::vector<EtcdOperation> EtcdReading::requests() const {
  std::vector<EtcdOperation> all;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    for (EtcdGet& get : etcd_line_gets(names_[i].text(), known_[i]))
      all.emplace_back(std::move(get));
    all.emplace_back(EtcdGet{.range = {note_of_lock(names_[i].text())}});
  }
  if (with_epoch_) all.emplace_back(EtcdGet{.range = {std::string(k_etcd_epoch)}});
  return all;
}

std::optional<EtcdRows> EtcdReading::rows_of(EtcdAnswer answer,
                                             const lease_table::Moment& moment) const {
  const EtcdRevision revision = answer.revision;
  EtcdRows rows{.names = names_, .rows = {}, .revision = revision, .term = answer.term};
  rows.moment = moment;
  rows.moment.numbers_writes = true;
  if (with_epoch_) {
    const auto& keys = answer.parts.back().keys;
    rows.epoch = keys.empty() ? contender::Epoch()
                              : contender::Epoch::read(keys.front().value, keys.front().modified);
  }
  auto part = std::make_move_iterator(answer.parts.begin());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto note = part + (known_[i] ? 2 : 1);
    // A store that was restored from an older copy counts revisions anew.
    const bool is_older = known_[i] && revision < known_[i]->revision;
    auto keys = is_older ? std::nullopt : etcd_line_keys(known_[i], {part, note});
    if (!keys) return std::nullopt;
    part = note + 1;
    const EtcdRow& row =
        rows.rows.emplace_back(row_of(names_[i].text(), *keys, note.base()->keys, moment.now));
    rows.lines.push_back(etcd_line(row, std::move(*keys), revision, etcd_place_of(row, ids_)));
  }
  return rows;
}

std::optional<EtcdRows> etcd_granted(const EtcdRows& before,
                                     const EtcdChange& change,
                                     EtcdRevision written) {
  EtcdRows all{.names = before.names};
  for (const EtcdRow& row : before.rows) {
    EtcdRow& own = all.rows.emplace_back(EtcdRow{.lock = row.lock, .note = row.note});
    for (const EtcdOperation& one : change.txn.then) {
      const auto* const put = std::get_if<EtcdPut>(&one);
      if (put == nullptr) continue;
      if (put->key == note_of_lock(row.lock)) return std::nullopt;
      if (lock_of_key(put->key) != row.lock) continue;
      own.keys.push_back({put->key, put->value, written, written, put->lease});
    }
    if (own.keys.size() != 1) return std::nullopt;
  }
  return all;
}

EtcdRows etcd_rows_at(EtcdRows rows, const lease_table::Moment& moment) {
  rows.moment = moment;
  rows.moment.numbers_writes = true;
  for (EtcdRow& row : rows.rows) {
    const auto note = row.note ? std::vector{*row.note} : std::vector<EtcdKey>();
    const bool shares_range = row.shares_range;
    row = row_of(row.lock, std::move(row.keys), note, moment.now);
    row.shares_range = shares_range;
  }
  return rows;
}

std::optional<std::size_t> etcd_place_of(const EtcdRow& row, const std::vector<std::string>& ids) {
  for (const auto& [id, index] : row.waiters)
    if (is_among(ids, id)) return index;
  return std::nullopt;
}

std::optional<EtcdRows> etcd_turn(EtcdRows rows,
                                  const std::vector<EtcdEvent>& events,
                                  const std::vector<std::string>& ids) {
  for (const EtcdEvent& event : events) {
    if (!event.deleted) return std::nullopt;
    std::erase_if(rows.rows.front().keys,
                  [&](const EtcdKey& one) { return one.key == event.key.key; });
  }
  const lease_table::Moment moment = rows.moment;
  rows = etcd_rows_at(std::move(rows), moment);
  const EtcdRow& row = rows.rows.front();
  if (!row.holders.empty() || etcd_place_of(row, ids) != std::size_t{0}) return std::nullopt;
  return rows;
}

EtcdWatched etcd_watched(const std::vector<EtcdRow>& rows, const std::vector<std::string>& ids) {
  EtcdWatched watched;
  for (const EtcdRow& row : rows) {
    const auto ours = etcd_place_of(row, ids);
    const auto& line = row.state.line;
    const auto at = std::find_if(
        line.begin(), line.end(), [&](const auto& one) { return is_among(ids, one.id); });
    const auto place = static_cast<std::size_t>(at - line.begin());
    const bool alone = ours && rows.size() == 1 && waits_for_all_before(row, *ours, place);
    if (!ours || *ours == 0 || (!alone && place < 2)) {
      watched.ranges.push_back(keys_of_lock(row.lock));
      continue;
    }
    if (alone) watched.events = EtcdEvents::deletes;
    for (std::size_t i = *ours < 2 ? 0 : *ours - 2; i < *ours; ++i)
      watched.ranges.push_back({row.keys[i].key});
  }
  return watched;
}

bool covers(const EtcdWatched& watched, const EtcdWatched& wanted) {
  if (watched.events != wanted.events) return false;
  return std::all_of(wanted.ranges.begin(), wanted.ranges.end(), [&](const EtcdRange& one) {
    return std::any_of(watched.ranges.begin(), watched.ranges.end(), [&](const EtcdRange& other) {
      return one.first == other.first && one.end == other.end;
    });
  });
}

}  // namespace dlock
