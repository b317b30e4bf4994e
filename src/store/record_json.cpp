// SPDX-License-Identifier: MIT
#include "store/record_json.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/json_bounds.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

namespace dlock {

namespace {

// A JSON object whose members keep their order in the text: the notes about released holds must
// stay in order. The library's own class compares each new member with all earlier ones, which
// takes ten seconds for 100,000 members. This class does not compare them. If two members have the
// same name, the first one counts.
template <class Name, class Value, class Less, class Allocator>
struct Members : nlohmann::ordered_map<Name, Value, Less, Allocator> {
  using nlohmann::ordered_map<Name, Value, Less, Allocator>::ordered_map;
  // Appends a member. The parser calls this, and so does update(), which may be used only for names
  // that the object does not have yet.
  Value& operator[](const Name& name) {
    std::vector<std::pair<const Name, Value>, Allocator>& all = *this;
    all.emplace_back(name, Value{});
    return all.back().second;
  }
};
using Json = nlohmann::basic_json<Members>;

// Returns the JSON in ASCII only, because every character set of a database can store ASCII.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

// Parses the text. Returns null if the text is too large, and a value that is not an object if the
// text is not JSON.
Json parse(std::string_view text, std::size_t most = limits::k_record_bytes) {
  if (!is_within_bounds(text, most)) return {};
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

// Returns the number at `key`, if it is in [0, most]. Accepts the form 1e15, too, in which a script
// may write a number.
std::optional<std::uint64_t> whole_number(const Json& object, const char* key, std::uint64_t most) {
  const auto at = object.find(key);
  if (at == object.end()) return std::nullopt;
  std::optional<std::uint64_t> number;
  if (at->is_number_unsigned()) {
    number = at->get<std::uint64_t>();
  } else if (at->is_number_float()) {
    constexpr double k_exact = 9007199254740992.0;  // 2^53: a larger double is not exact
    const double value = at->get<double>();
    if (value >= 0 && value <= k_exact) number = static_cast<std::uint64_t>(value);
  }
  if (number && *number > most) return std::nullopt;
  return number;
}

std::optional<std::string> text_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) return std::nullopt;
  return at->get<std::string>();
}

std::string short_text_at(const Json& object,
                          const char* key,
                          std::size_t bytes = HolderInfo::k_text_bytes_max) {
  return shortened(text_at(object, key).value_or(""), bytes);
}

constexpr auto k_most_signed = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr std::uint64_t k_latest_ms = lease_table::k_latest_ms;
constexpr std::uint64_t k_latest_ns = k_latest_ms * 1'000'000;

// Returns the time at `key`. Returns 0 if there is no number, or if no clock can have shown that
// time.
std::int64_t wall_ms_at(const Json& object, const char* key) {
  return static_cast<std::int64_t>(whole_number(object, key, k_latest_ms).value_or(0));
}

// Returns the mode of a record. A record without a mode is plain. nullopt: this dlock does not know
// the mode.
std::optional<Mode> mode_at(const Json& object) {
  if (!object.contains("mode")) return Mode::plain;
  return parse_stored_mode(text_at(object, "mode").value_or(""));
}

constexpr std::uint64_t k_most_slots = 1'000'000;

std::optional<std::uint32_t> slot_number(const Json& object, const char* key) {
  const auto number = whole_number(object, key, k_most_slots);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

std::uint64_t layout_in(const Json& object) {
  if (!object.is_object()) return lease_table::k_layout;
  return whole_number(object, "layout", k_most_signed).value_or(lease_table::k_layout);
}

HoldRecord record_from(std::string id, const Json& object) {
  HoldRecord record;
  record.id = std::move(id);
  record.who.host = short_text_at(object, "host");
  record.who.pid = static_cast<long>(whole_number(object, "pid", k_most_signed).value_or(0));
  record.who.user = short_text_at(object, "user");
  record.who.command = short_text_at(object, "command", HolderInfo::k_command_bytes_max);
  record.who.reason = short_text_at(object, "reason");
  record.who.machine = short_text_at(object, "machine");
  record.token = whole_number(object, "token", k_most_signed).value_or(0);
  record.since_ms = wall_ms_at(object, "since_ms");
  const auto ttl_ms = whole_number(object, "ttl_ms", to_ms(k_longest_duration)).value_or(0);
  record.ttl = std::chrono::milliseconds(static_cast<std::int64_t>(ttl_ms));
  record.mode = mode_at(object).value_or(Mode::plain);
  if (record.mode == Mode::slots) record.slot = slot_number(object, "slot");
  const auto kept = object.find("kept");
  record.kept = kept != object.end() && *kept == true;
  return record;
}

Json object_from(const HolderInfo& who, Duration ttl) {
  Json object{{"host", who.host},
              {"pid", who.pid},
              {"user", who.user},
              {"command", who.command},
              {"reason", who.reason},
              {"ttl_ms", to_ms(ttl)}};
  if (!who.machine.empty()) object["machine"] = who.machine;
  return object;
}

Json object_from(const HoldRecord& record) {
  Json object{{"token", record.token}, {"since_ms", record.since_ms}};
  if (record.mode != Mode::plain) object["mode"] = stored_mode(record.mode);
  if (record.slot) object["slot"] = *record.slot;
  if (record.kept) object["kept"] = true;
  object.update(object_from(record.who, record.ttl));
  return object;
}

Json object_from(const lease_table::Lease& lease) {
  Json object{{"expires_ns", lease.expires.time_since_epoch().count()}, {"holds", Json::object()}};
  if (lease.revoked_by) object["revoked_by"] = *lease.revoked_by;
  for (const auto& [serial, record] : lease.holds)
    object["holds"][serial] = object_from(record);
  return object;
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

Json object_from(const lease_table::FreezeNote& freeze) {
  Json object{{"owner", freeze.owner},
              {"since_ms", freeze.since_ms},
              {"until_ms", freeze.until_ms}};
  object.update(object_from(freeze.who, Duration::zero()));
  return object;
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

std::string_view stored_mode(Mode mode) {
  switch (mode) {
    case Mode::plain:
      return "exclusive";
    case Mode::exclusive:
      return "write";
    case Mode::shared:
      return "shared";
    case Mode::slots:
      return "slots";
  }
  return "?";
}

std::optional<Mode> parse_stored_mode(std::string_view word) {
  for (const Mode mode : {Mode::plain, Mode::exclusive, Mode::shared, Mode::slots}) {
    if (word == stored_mode(mode)) return mode;
  }
  return {};
}

std::string holder_json(const HolderInfo& who, Duration ttl) {
  return dump(object_from(who, ttl));
}

std::uint64_t layout_of(std::string_view json) {
  return layout_in(parse(json));
}

Error of_newer_dlock(const std::string& lock, std::uint64_t layout) {
  return {Errc::bad_config,
          "cannot use " + lock + ": it was written by a newer dlock, layout " +
              std::to_string(layout) + "; this dlock knows " +
              std::to_string(lease_table::k_layout) + ": upgrade dlock on this host"};
}

std::optional<HoldRecord> parse_hold_record(std::string id, std::string_view json) {
  const Json object = parse(json);
  if (!object.is_object() || layout_in(object) > lease_table::k_layout) return std::nullopt;
  return record_from(std::move(id), object);
}

std::optional<HoldRecord> parse_granted_record(std::string id, std::string_view json) {
  const auto holder = json.find(",\"host\":");  // the first field of holder_json()
  if (holder == std::string_view::npos) return parse_hold_record(std::move(id), json);
  return parse_hold_record(std::move(id), std::string(json.substr(0, holder)) + "}");
}

std::optional<Waiter> parse_waiter(std::string_view json) {
  const auto record = parse_hold_record("", json);
  if (!record) return std::nullopt;
  const std::uint32_t slots =
      record->mode == Mode::slots ? slot_number(parse(json), "slots").value_or(0) : 0;
  return Waiter{.who = record->who, .mode = record->mode, .slots = slots};
}

namespace {

Json object_from(const Waiter& waiter) {
  Json object = Json::object();
  if (waiter.mode != Mode::plain) object["mode"] = stored_mode(waiter.mode);
  if (waiter.slots > 0) object["slots"] = waiter.slots;
  object.update(object_from(waiter.who, Duration::zero()));
  object.erase("ttl_ms");
  return object;
}

}  // namespace

std::string waiter_json(const Waiter& waiter) {
  return dump(object_from(waiter));
}

std::string place_json(const lease_table::Place& place) {
  Json object{{"waiter", place.id}, {"since_ms", place.waiter.since_ms}};
  object.update(object_from(place.waiter));
  return dump(object);
}

std::optional<lease_table::Place> parse_place(std::string_view json) {
  const Json object = parse(json);
  if (!object.is_object()) return std::nullopt;
  const auto id = text_at(object, "waiter");
  auto waiter = parse_waiter(json);
  if (!id || !waiter || !mode_at(object)) return std::nullopt;
  waiter->since_ms = wall_ms_at(object, "since_ms");
  return lease_table::Place{.id = *id, .waiter = std::move(*waiter)};
}

std::string state_file_json(const StateFile& lease) {
  const lease_table::StoredLock& state = lease.state;
  Json object{
      {"name", percent_encode(lease.name)}, {"token", state.token}, {"leases", Json::object()}};
  // The boot id is left out if it is unknown, as in a container. dlock 0.1 then takes the file for
  // damaged and refuses it. With a container's own boot id, dlock 0.1 would take the file for one
  // of another boot, whose locks are free.
  if (!lease.stamp.boot_id.empty() || !lease.stamp.at) object["boot_id"] = lease.stamp.boot_id;
  if (lease.stamp.at) object["written_ns"] = lease.stamp.at->time_since_epoch().count();
  if (state.slots > 0) object["slots"] = state.slots;
  if (state.success) {
    object["done_ms"] = state.success->since_ms;
    object["done_until_ms"] = state.success->until_ms;
  }
  if (state.frozen) object["frozen"] = object_from(*state.frozen);
  for (const auto& [id, at_ms] : state.released)
    object["released"][id] = at_ms;
  for (const auto& [owner, one] : state.leases)
    object["leases"][owner] = object_from(one);
  return dump(object) + '\n';
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
