// SPDX-License-Identifier: MIT
// For record_json.cpp and state_json.cpp only: JSON objects, the fields of a record, and functions
// that read a field of any type from hostile text.
#pragma once

#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/json_bounds.hpp"
#include "store/record_json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

namespace dlock::json_object {

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
inline std::string dump(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

// Parses the text. Returns null if the text is too large, and a value that is not an object if the
// text is not JSON.
inline Json parse(std::string_view text, std::size_t most = limits::k_record_bytes) {
  if (!is_within_bounds(text, most)) return {};
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

// Returns the number at `key`, if it is in [0, most]. Accepts the form 1e15, too, in which a script
// may write a number.
inline std::optional<std::uint64_t> whole_number(const Json& object,
                                                 const char* key,
                                                 std::uint64_t most) {
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

inline std::optional<std::string> text_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) return std::nullopt;
  return at->get<std::string>();
}

inline std::string short_text_at(const Json& object,
                                 const char* key,
                                 std::size_t bytes = HolderInfo::k_text_bytes_max) {
  return shortened(text_at(object, key).value_or(""), bytes);
}

inline constexpr auto k_most_signed =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
inline constexpr std::uint64_t k_latest_ms = lease_table::k_latest_ms;
inline constexpr std::uint64_t k_latest_ns = k_latest_ms * 1'000'000;

// Returns the time at `key`. Returns 0 if there is no number, or if no clock can have shown that
// time.
inline std::int64_t wall_ms_at(const Json& object, const char* key) {
  return static_cast<std::int64_t>(whole_number(object, key, k_latest_ms).value_or(0));
}

// Returns the mode of a record. A record without a mode is plain. nullopt: this dlock does not know
// the mode.
inline std::optional<Mode> mode_at(const Json& object) {
  if (!object.contains("mode")) return Mode::plain;
  return parse_stored_mode(text_at(object, "mode").value_or(""));
}

inline constexpr std::uint64_t k_most_slots = 1'000'000;

inline std::optional<std::uint32_t> slot_number(const Json& object, const char* key) {
  const auto number = whole_number(object, key, k_most_slots);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

inline std::uint64_t layout_in(const Json& object) {
  if (!object.is_object()) return lease_table::k_layout;
  return whole_number(object, "layout", k_most_signed).value_or(lease_table::k_layout);
}

inline HoldRecord record_from(std::string id, const Json& object) {
  HoldRecord record;
  record.id = std::move(id);
  record.who.host = short_text_at(object, "host");
  record.who.pid = static_cast<long>(whole_number(object, "pid", k_most_signed).value_or(0));
  record.who.user = short_text_at(object, "user");
  record.who.command = short_text_at(object, "command", HolderInfo::k_command_bytes_max);
  record.who.reason = short_text_at(object, "reason");
  record.who.machine = short_text_at(object, "machine");
  record.who.supersede = parse_supersede(short_text_at(object, "supersede"));
  record.who.came_ms = wall_ms_at(object, "came_ms");
  record.who.guard = static_cast<long>(whole_number(object, "guard", k_most_signed).value_or(0));
  record.who.group = static_cast<long>(whole_number(object, "group", k_most_signed).value_or(0));
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

inline Json object_from(const HolderInfo& who, Duration ttl) {
  Json object{{"host", who.host},
              {"pid", who.pid},
              {"user", who.user},
              {"command", who.command},
              {"reason", who.reason},
              {"ttl_ms", to_ms(ttl)}};
  if (!who.machine.empty()) object["machine"] = who.machine;
  if (who.supersede != Supersede::nothing) object["supersede"] = supersede_word(who.supersede);
  if (who.came_ms != 0) object["came_ms"] = who.came_ms;
  if (who.group != 0) {
    object["guard"] = who.guard;
    object["group"] = who.group;
  }
  return object;
}

inline Json object_from(const HoldRecord& record) {
  Json object{{"token", record.token}, {"since_ms", record.since_ms}};
  if (record.mode != Mode::plain) object["mode"] = stored_mode(record.mode);
  if (record.slot) object["slot"] = *record.slot;
  if (record.kept) object["kept"] = true;
  object.update(object_from(record.who, record.ttl));
  return object;
}

inline constexpr std::uint64_t k_most_status = 255;

// Returns a status or a signal's number.
inline std::optional<int> status_at(const Json& object, const char* key) {
  const auto number = whole_number(object, key, k_most_status);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

inline std::optional<Duration> ms_at(const Json& object, const char* key) {
  const auto number = whole_number(object, key, to_ms(k_longest_duration));
  if (!number) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(*number));
}

// Reads how a run ended, but not when. nullopt: the text says nothing of an end.
inline std::optional<ReportedEnd> end_from(const Json& object) {
  const HoldRecord record = record_from("", object);
  ReportedEnd end{.run = {.who = record.who,
                          .token = record.token,
                          .since_ms = record.since_ms,
                          .outcome = short_text_at(object, "outcome"),
                          .exit_status = status_at(object, "exit_status"),
                          .signal = status_at(object, "signal"),
                          .waited = ms_at(object, "waited_ms")},
                  .newest = whole_number(object, "newest", k_most_signed).value_or(record.token)};
  if (end.run.outcome.empty()) return std::nullopt;
  const auto keep = ms_at(object, "keep_ms").value_or(Duration::zero());
  end.keep = std::chrono::duration_cast<std::chrono::milliseconds>(keep);
  return end;
}

}  // namespace dlock::json_object
