// SPDX-License-Identifier: MIT
#include "store/record_json.hpp"

#include "base/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

namespace dlock {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t k_largest_record = std::size_t{64} * 1024;
constexpr std::size_t k_longest_command = 200;
constexpr std::size_t k_longest_text = 256;
constexpr std::int64_t k_longest_ttl_ms = std::int64_t{36525} * 24 * 3600 * 1000;  // 100 years

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parse(std::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

// The whole number at `key`, if there is one in [0, most]. Scripts may write 1e15 for it.
std::optional<std::uint64_t> whole_number(const Json& object, const char* key, std::uint64_t most) {
  const auto at = object.find(key);
  if (at == object.end()) return std::nullopt;
  std::optional<std::uint64_t> number;
  if (at->is_number_unsigned()) {
    number = at->get<std::uint64_t>();
  } else if (at->is_number_float()) {
    constexpr double k_exact = 9007199254740992.0;  // 2^53: beyond, a double is a guess
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

std::string short_text_at(const Json& object, const char* key, std::size_t bytes = k_longest_text) {
  return shortened(text_at(object, key).value_or(""), bytes);
}

constexpr auto k_most_signed = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

HoldRecord record_from(std::string id, const Json& object) {
  HoldRecord record;
  record.id = std::move(id);
  record.who.host = short_text_at(object, "host");
  record.who.pid = static_cast<long>(whole_number(object, "pid", k_most_signed).value_or(0));
  record.who.user = short_text_at(object, "user");
  record.who.command = short_text_at(object, "command", k_longest_command);
  record.who.reason = short_text_at(object, "reason");
  record.who.machine = short_text_at(object, "machine");
  record.token = whole_number(object, "token", k_most_signed).value_or(0);
  record.since_ms =
      static_cast<std::int64_t>(whole_number(object, "since_ms", k_most_signed).value_or(0));
  const auto ttl_ms = whole_number(object, "ttl_ms", k_longest_ttl_ms).value_or(0);
  record.ttl = std::chrono::milliseconds(static_cast<std::int64_t>(ttl_ms));
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
  object.update(object_from(record.who, record.ttl));
  return object;
}

std::optional<lease_table::LeaseState> state_from(const Json& object) {
  lease_table::LeaseState state;
  auto owner = text_at(object, "owner");
  const auto expires = whole_number(object, "expires_ns", k_most_signed);
  const auto token = whole_number(object, "token", k_most_signed);
  const auto holds = object.find("holds");
  if (!owner || !expires || !token || holds == object.end() || !holds->is_object()) return {};
  state.owner = std::move(*owner);
  state.expires = Time(Duration(static_cast<std::int64_t>(*expires)));
  state.token = *token;
  if (object.contains("revoked_by")) {
    state.revoked_by = text_at(object, "revoked_by");
    if (!state.revoked_by) return {};
  }
  for (const auto& [serial, record] : holds->items()) {
    if (!record.is_object()) return {};
    state.holds.emplace(serial, record_from(hold_id(state.owner, serial), record));
  }
  return state;
}

}  // namespace

std::string holder_json(const HolderInfo& who, Duration ttl) {
  return dump(object_from(who, ttl));
}

std::optional<HoldRecord> parse_hold_record(std::string id, std::string_view json) {
  if (json.size() > k_largest_record) return std::nullopt;
  const Json object = parse(json);
  if (!object.is_object()) return std::nullopt;
  return record_from(std::move(id), object);
}

std::string stored_lease_json(const StoredLease& lease) {
  const lease_table::LeaseState& state = lease.state;
  Json object{{"name", percent_encode(lease.name)},
              {"boot_id", lease.boot_id},
              {"owner", state.owner},
              {"expires_ns", state.expires.time_since_epoch().count()},
              {"token", state.token},
              {"holds", Json::object()}};
  if (state.revoked_by) object["revoked_by"] = *state.revoked_by;
  for (const auto& [serial, record] : state.holds)
    object["holds"][serial] = object_from(record);
  return dump(object) + '\n';
}

std::optional<StoredLease> parse_stored_lease(std::string_view json) {
  const Json object = parse(json);
  if (!object.is_object()) return std::nullopt;
  const auto name = text_at(object, "name");
  const auto boot_id = text_at(object, "boot_id");
  auto state = state_from(object);
  if (!name || !boot_id || !state) return std::nullopt;
  return StoredLease{percent_decode(*name), *boot_id, std::move(*state)};
}

}  // namespace dlock
