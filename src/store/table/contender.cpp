// SPDX-License-Identifier: MIT
#include "store/table/contender.hpp"

#include "base/duration.hpp"
#include "store/record_json.hpp"
#include "store/state_json.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace dlock::contender {

using lease_table::Lease;
using lease_table::Line;
using lease_table::Place;
using lease_table::StoredLock;
using lease_table::StoreTime;

namespace {

std::string json_of(const StoredLock& state) {
  return state_file_json({.name = {}, .stamp = {}, .state = state});
}

}  // namespace

// Reads an epoch (a number that is added to the numbers of writes to make fencing tokens) from the
// text in which the store keeps it. A text that dlock did not write counts as "no epoch".
Epoch Epoch::read(std::string_view text, std::int64_t version) {
  Epoch epoch{.version = version};
  const auto read = std::from_chars(text.begin(), text.end(), epoch.value);
  const bool sound = read.ec == std::errc{} && read.ptr == text.end();
  if (!sound || epoch.value < 0 || epoch.value >= k_most - k_numbers) epoch.value = 0;
  return epoch;
}

std::int64_t Epoch::for_grant(std::int64_t number, std::int64_t wall_us, FencingToken known) const {
  number = std::clamp<std::int64_t>(number, 0, k_most);  // a server may send any number
  std::int64_t least = static_cast<std::int64_t>(known) - number;
  if (wall_us < k_most - k_numbers && value + number < wall_us - k_late.count())
    least = std::max(least, wall_us - number);
  return std::max(value, least);
}

FencingToken largest_token(const std::vector<StoredLock>& states) {
  FencingToken largest = 0;
  for (const StoredLock& state : states)
    for (const auto& [owner, lease] : state.leases)
      for (const auto& [serial, record] : lease.holds)
        if (record.token < Epoch::k_most) largest = std::max(largest, record.token);
  return largest;
}

std::string lease_json(
    const OwnerId& owner, Lease lease, Duration ttl, std::uint32_t slots, std::int64_t epoch) {
  StoredLock one;
  one.token = static_cast<FencingToken>(epoch);
  lease.expires = StoreTime(ttl);
  if (lease_table::mode_of(lease) == Mode::slots) one.slots = slots;
  one.leases.emplace(owner, std::move(lease));
  return json_of(one);
}

std::optional<Holder> parse_lease(std::string_view json, FencingToken written, StoreTime now) {
  auto file = parse_state_file(json);
  if (!file || file->state.leases.size() != 1) return std::nullopt;
  auto& [owner, lease] = *file->state.leases.begin();
  const Duration asked = lease.expires.time_since_epoch();
  if (asked <= Duration::zero() || asked > k_longest_duration) return std::nullopt;
  lease.expires = now + asked;
  lease.at_most = true;
  for (auto& [serial, record] : lease.holds)
    if (record.token == 0 && !record.kept) record.token = file->state.token + written;
  return Holder{owner, std::move(lease), file->state.slots};
}

std::optional<Place> parse_waiter(std::string_view json, const Writes& writes, StoreTime now) {
  auto place = parse_place(json);
  if (!place) return std::nullopt;
  place->arrival_us = writes.created;
  place->written = writes.modified;
  place->alive_until = now + k_seen_alive;
  return place;
}

EntryStep entry_step(const Place& place, const StoredLock& before) {
  const Line& line = before.line;
  const Place& old = line[lease_table::number_of(line, place.id) - 1];
  // The entry's number is its place in line, so an old entry would keep the old place.
  if (place.arrival_us != old.arrival_us) return EntryStep::replace;
  // A turn makes alive_until earlier, but an entry does not contain alive_until.
  if (place.alive_until <= old.alive_until) return EntryStep::keep;
  const bool is_seen = line.size() > 1 && lease_table::is_first(line, place.id) &&
                       lease_table::has_room_for_first(before);
  return place.several && is_seen ? EntryStep::rewrite : EntryStep::renew;
}

std::optional<std::size_t> waiter_of(const Lease& lease,
                                     const std::map<std::string, std::size_t>& waiters) {
  for (const auto& [serial, record] : lease.holds) {
    const auto at = waiters.find(record.id);
    if (at != waiters.end()) return at->second;
  }
  return std::nullopt;
}

Error outpaced(const std::string& where, int changes, Error why) {
  if (changes == 0 || why.code != Errc::timed_out) return why;
  const std::string often = changes == 1 ? "once" : std::to_string(changes) + " times";
  return {
      why.code,
      "locks at " + where + " changed " + often + " while they were read or written; " + why.text};
}

bool has_note(const StoredLock& state) {
  return state.success || state.frozen || state.last || !state.released.empty();
}

std::string note_json(const StoredLock& state) {
  StoredLock note;
  note.success = state.success;
  note.frozen = state.frozen;
  note.last = state.last;
  note.released = state.released;
  return json_of(note);
}

void take_note(std::string_view json, StoredLock& state) {
  auto file = parse_state_file(json);
  if (!file) return;
  state.success = file->state.success;
  state.frozen = std::move(file->state.frozen);
  state.last = std::move(file->state.last);
  state.released = std::move(file->state.released);
}

void Turns::note(const std::string& lock,
                 StoredLock& state,
                 StoreTime now,
                 const std::function<bool(const std::string&)>& is_ours) {
  if (state.line.empty() || !lease_table::has_room_for_first(state)) {
    turns_.erase(lock);
    return;
  }
  Place& first = state.line.front();
  Turn& turn = turns_[lock];
  if (turn.id != first.id || turn.written != first.written) turn = {first.id, first.written, now};
  const Duration lasts = first.several ? k_seen_alive : lease_table::k_turn;
  first.alive_until = (is_ours(first.id) ? now : turn.since) + lasts;
}

}  // namespace dlock::contender
