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
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
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

// Puts the members of a JSON object together without the library, for the texts of every run: with
// the library, these take a tenth of the instructions of a run.
class MemberText {
 public:
  template <std::integral Number>
  void add(std::string_view name, Number value) {
    begin(name);
    text_ += std::to_string(value);
  }
  void add(std::string_view name, std::string_view value) {
    begin(name);
    append(value);
  }
  // `json` is the text of the value.
  void add_json(std::string_view name, std::string_view json) {
    begin(name);
    text_ += json;
  }
  // Returns "name":value,"name":value…
  std::string take() { return std::move(text_); }
  std::string take_object() { return '{' + take() + '}'; }

 private:
  static bool needs_no_escape(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }
  void append(std::string_view value) {
    if (std::all_of(value.begin(), value.end(), needs_no_escape)) {
      text_.append(1, '"').append(value) += '"';
    } else {
      text_ += dump(value);
    }
  }
  void begin(std::string_view name) {
    if (!text_.empty()) text_ += ',';
    append(name);
    text_ += ':';
  }

  std::string text_;
};

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

// Adds who holds a lock or waits for it. A waiter has no `ttl`; when it came is in its place.
inline void add_who(MemberText& members, const HolderInfo& who, std::optional<Duration> ttl) {
  members.add("host", who.host);
  members.add("pid", who.pid);
  members.add("user", who.user);
  members.add("command", who.command);
  members.add("reason", who.reason);
  if (ttl) members.add("ttl_ms", to_ms(*ttl));
  if (!who.machine.empty()) members.add("machine", who.machine);
  if (who.supersede != Supersede::nothing) members.add("supersede", supersede_word(who.supersede));
  if (ttl && who.came_ms != 0) members.add("came_ms", who.came_ms);
}

inline void add_processes(MemberText& members, const HolderInfo& who) {
  if (who.group == 0) return;
  members.add("guard", who.guard);
  members.add("group", who.group);
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
