// SPDX-License-Identifier: MIT
#include "store/state_json.hpp"

#include "store/json_object.hpp"

#include <utility>

namespace dlock {

using namespace json_object;

namespace {

std::string text_of(const HoldRecord& record) {
  MemberText members;
  members.add("token", record.token);
  members.add("since_ms", record.since_ms);
  if (record.mode != Mode::plain) members.add("mode", stored_mode(record.mode));
  if (record.slot) members.add("slot", *record.slot);
  if (record.kept) members.add_json("kept", "true");
  add_who(members, record.who, record.ttl);
  add_processes(members, record.who);
  return members.take_object();
}

std::string text_of(const lease_table::Lease& lease) {
  MemberText holds;
  for (const auto& [serial, record] : lease.holds)
    holds.add_json(serial, text_of(record));
  MemberText members;
  members.add("expires_ns", lease.expires.time_since_epoch().count());
  members.add_json("holds", holds.take_object());
  if (lease.revoked_by) members.add("revoked_by", *lease.revoked_by);
  return members.take_object();
}

// Returns whether the record's slot and its field "kept" are valid. A wrong guess about them could
// admit one holder too many to a lock with several holders.
bool is_sound(const HoldRecord& record, const Json& object, std::uint32_t slots) {
  const bool kept_is_sound = !object.contains("kept") || object["kept"].is_boolean();
  const bool slot_is_sound = record.mode != Mode::slots || (record.slot && *record.slot < slots);
  return mode_at(object) && kept_is_sound && slot_is_sound;
}

std::optional<lease_table::Lease> lease_from(const OwnerId& owner,
                                             const Json& object,
                                             std::uint32_t slots) {
  if (!object.is_object()) return {};
  lease_table::Lease lease;
  const auto expires = whole_number(object, "expires_ns", k_latest_ns);
  const auto holds = object.find("holds");
  if (!expires || holds == object.end() || !holds->is_object() || holds->empty()) return {};
  lease.expires = lease_table::StoreTime(Duration(static_cast<std::int64_t>(*expires)));
  if (object.contains("revoked_by")) {
    lease.revoked_by = text_at(object, "revoked_by");
    if (!lease.revoked_by) return {};
  }
  for (const auto& [serial, text] : holds->items()) {
    if (!text.is_object()) return {};
    HoldRecord record = record_from(hold_id(owner, serial), text);
    if (!is_sound(record, text, slots)) return {};
    lease.holds.emplace(serial, std::move(record));
  }
  return lease;
}

// Returns the leases in a file that dlock 0.1 wrote. Such a file has one owner, whose lease is not
// in a list of leases but among the other fields.
Json leases_of_old_state(const Json& object) {
  const auto owner = text_at(object, "owner");
  if (!owner) return {};
  return owner->empty() ? Json::object() : Json{{*owner, object}};
}

// Returns the notes about released holds. A damaged note is left out; then a claim that relies on
// that hold is refused, because the hold counts as lost.
std::vector<lease_table::ReleasedHold> released_from(const Json& object) {
  std::vector<lease_table::ReleasedHold> all;
  const auto at = object.find("released");
  if (at == object.end() || !at->is_object()) return all;
  for (const auto& [id, time] : at->items()) {
    const auto at_ms = whole_number(*at, id.c_str(), k_latest_ms);
    if (at_ms) all.push_back({id, static_cast<std::int64_t>(*at_ms)});
  }
  return all;
}

// Returns the freeze. A damaged one counts as none: the lock itself says who holds it.
std::optional<lease_table::FreezeNote> freeze_from(const Json& object) {
  const auto at = object.find("frozen");
  if (at == object.end() || !at->is_object()) return std::nullopt;
  const auto owner = text_at(*at, "owner");
  if (!owner) return std::nullopt;
  return lease_table::FreezeNote{.owner = *owner,
                                 .who = record_from("", *at).who,
                                 .since_ms = wall_ms_at(*at, "since_ms"),
                                 .until_ms = wall_ms_at(*at, "until_ms")};
}

std::string text_of(const lease_table::FreezeNote& freeze) {
  MemberText members;
  members.add("owner", freeze.owner);
  members.add("since_ms", freeze.since_ms);
  members.add("until_ms", freeze.until_ms);
  add_who(members, freeze.who, Duration::zero());
  add_processes(members, freeze.who);
  return members.take_object();
}

std::optional<lease_table::LastNote> last_from(const Json& object) {
  const auto at = object.find("last");
  if (at == object.end() || !at->is_object()) return std::nullopt;
  auto end = end_from(*at);
  if (!end) return std::nullopt;
  end->run.ended_ms = wall_ms_at(*at, "ended_ms");
  return lease_table::LastNote{
      .run = std::move(end->run), .newest = end->newest, .until_ms = wall_ms_at(*at, "until_ms")};
}

std::string text_of(const lease_table::LastNote& last) {
  const LastRun& run = last.run;
  MemberText members;
  members.add("token", run.token);
  members.add("since_ms", run.since_ms);
  members.add("ended_ms", run.ended_ms);
  members.add("newest", last.newest);
  members.add("until_ms", last.until_ms);
  members.add("outcome", run.outcome);
  if (run.exit_status) members.add("exit_status", *run.exit_status);
  if (run.signal) members.add("signal", *run.signal);
  if (run.waited) members.add("waited_ms", to_ms(*run.waited));
  add_who(members, run.who, Duration::zero());
  add_processes(members, run.who);
  return members.take_object();
}

std::optional<lease_table::StoredLock> state_from(const Json& object) {
  lease_table::StoredLock state{.layout = layout_in(object)};
  if (state.layout > lease_table::k_layout) return state;
  const auto token = whole_number(object, "token", k_most_signed);
  const Json leases = object.contains("leases") ? object["leases"] : leases_of_old_state(object);
  if (!token || !leases.is_object()) return {};
  state.token = *token;
  state.slots = slot_number(object, "slots").value_or(0);
  for (const auto& [owner, one] : leases.items()) {
    auto lease = lease_from(owner, one, state.slots);
    if (!lease) return {};
    state.leases.emplace(owner, std::move(*lease));
  }
  const auto since = whole_number(object, "done_ms", k_latest_ms);
  const auto until = whole_number(object, "done_until_ms", k_latest_ms);
  if (since && until) {
    state.success = {static_cast<std::int64_t>(*since), static_cast<std::int64_t>(*until)};
  }
  state.frozen = freeze_from(object);
  state.last = last_from(object);
  state.released = released_from(object);
  return state;
}

std::optional<BootStamp> stamp_from(const Json& object) {
  const auto boot_id = text_at(object, "boot_id");
  const auto written = whole_number(object, "written_ns", k_latest_ns);
  if (!written && (!boot_id || object.contains("written_ns"))) return {};
  BootStamp stamp{.boot_id = boot_id.value_or("")};
  if (written) stamp.at = lease_table::StoreTime(Duration(static_cast<std::int64_t>(*written)));
  return stamp;
}

}  // namespace

std::string state_file_json(const StateFile& lease) {
  const lease_table::StoredLock& state = lease.state;
  MemberText members;
  members.add("name", percent_encode(lease.name));
  members.add("token", state.token);
  MemberText leases;
  for (const auto& [owner, one] : state.leases)
    leases.add_json(owner, text_of(one));
  members.add_json("leases", leases.take_object());
  // The boot id is left out if it is unknown, as in a container. dlock 0.1 then takes the file for
  // damaged and refuses it. With a container's own boot id, dlock 0.1 would take the file for one
  // of another boot, whose locks are free.
  if (!lease.stamp.boot_id.empty() || !lease.stamp.at) members.add("boot_id", lease.stamp.boot_id);
  if (lease.stamp.at) members.add("written_ns", lease.stamp.at->time_since_epoch().count());
  if (state.slots > 0) members.add("slots", state.slots);
  if (state.success) {
    members.add("done_ms", state.success->since_ms);
    members.add("done_until_ms", state.success->until_ms);
  }
  if (state.last) members.add_json("last", text_of(*state.last));
  if (state.frozen) members.add_json("frozen", text_of(*state.frozen));
  MemberText released;
  for (const auto& [id, at_ms] : state.released)
    released.add(id, at_ms);
  if (!state.released.empty()) members.add_json("released", released.take_object());
  return members.take_object() + '\n';
}

Result<std::string> state_to_write(const StateFile& lease) {
  std::string json = state_file_json(lease);
  if (is_within_bounds(json)) return json;
  return Error{Errc::refused,
               "cannot write lock " + in_quotes(lease.name) +
                   ": it would have more holders than one lock can keep (4 MiB, 100,000 values)"};
}

std::optional<StateFile> parse_state_file(std::string_view json) {
  const Json object = parse(json, limits::k_answer_bytes);
  if (!object.is_object()) return std::nullopt;
  const auto name = text_at(object, "name");
  auto stamp = stamp_from(object);
  auto state = state_from(object);
  if (!name || !stamp || !state) return std::nullopt;
  return StateFile{percent_decode(*name), std::move(*stamp), std::move(*state)};
}

}  // namespace dlock
