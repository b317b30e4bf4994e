// SPDX-License-Identifier: MIT
#include "store/record_json.hpp"

#include "store/json_object.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace json_object;

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

namespace {

// Puts the members of a JSON object together without the library, for the texts of every run: with
// the library, these take a tenth of the instructions of a run.
class MemberText {
 public:
  void add(std::string_view name, std::int64_t value) {
    begin(name);
    text_ += std::to_string(value);
  }
  void add(std::string_view name, std::string_view value) {
    begin(name);
    if (std::all_of(value.begin(), value.end(), needs_no_escape)) {
      text_.append(1, '"').append(value) += '"';
    } else {
      text_ += dump(value);
    }
  }
  // Returns "name":value,"name":value…
  std::string take() { return std::move(text_); }

 private:
  static bool needs_no_escape(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }
  void begin(std::string_view name) {
    if (!text_.empty()) text_ += ',';
    text_.append(1, '"').append(name) += "\":";
  }

  std::string text_;
};

}  // namespace

std::string holder_json(const HolderInfo& who, Duration ttl) {
  MemberText members;
  members.add("host", who.host);
  members.add("pid", who.pid);
  members.add("user", who.user);
  members.add("command", who.command);
  members.add("reason", who.reason);
  members.add("ttl_ms", to_ms(ttl));
  if (!who.machine.empty()) members.add("machine", who.machine);
  if (who.supersede != Supersede::nothing) members.add("supersede", supersede_word(who.supersede));
  if (who.came_ms != 0) members.add("came_ms", who.came_ms);
  return '{' + members.take() + '}';
}

std::string processes_json(const HolderInfo& who) {
  if (who.group == 0) return "";
  const Json object{{"machine", who.machine}, {"guard", who.guard}, {"group", who.group}};
  return dump(object).substr(1);
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

std::string end_json(const RunEnd& end) {
  MemberText members;
  members.add("outcome", end.outcome);
  if (end.exit_status) members.add("exit_status", *end.exit_status);
  if (end.signal) members.add("signal", *end.signal);
  if (end.waited) members.add("waited_ms", to_ms(*end.waited));
  if (end.keep != Duration::zero()) members.add("keep_ms", to_ms(end.keep));
  return members.take() + '}';
}

std::optional<ReportedEnd> parse_end(std::string_view json) {
  const Json object = parse(json);
  return object.is_object() ? end_from(object) : std::nullopt;
}

std::optional<Waiter> parse_waiter(std::string_view json) {
  const auto record = parse_hold_record("", json);
  if (!record) return std::nullopt;
  const std::uint32_t slots =
      record->mode == Mode::slots ? slot_number(parse(json), "slots").value_or(0) : 0;
  return Waiter{.who = record->who, .mode = record->mode, .slots = slots};
}

namespace {

using json_object::object_from;

Json object_from(const Waiter& waiter) {
  Json object = Json::object();
  if (waiter.mode != Mode::plain) object["mode"] = stored_mode(waiter.mode);
  if (waiter.slots > 0) object["slots"] = waiter.slots;
  object.update(object_from(waiter.who, Duration::zero()));
  object.erase("ttl_ms");
  object.erase("came_ms");  // a place in line has a time of its own, and keeps its text
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

}  // namespace dlock
