// SPDX-License-Identifier: MIT
#include "store/record_json.hpp"

#include "store/json_object.hpp"

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

std::string holder_json(const HolderInfo& who, Duration ttl) {
  MemberText members;
  add_who(members, who, ttl);
  return members.take_object();
}

std::string processes_json(const HolderInfo& who) {
  if (who.group == 0) return "";
  MemberText members;
  members.add("machine", who.machine);
  add_processes(members, who);
  return members.take() + '}';
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

void add_waiter(MemberText& members, const Waiter& waiter) {
  if (waiter.mode != Mode::plain) members.add("mode", stored_mode(waiter.mode));
  if (waiter.slots > 0) members.add("slots", waiter.slots);
  add_who(members, waiter.who, std::nullopt);
  add_processes(members, waiter.who);
}

}  // namespace

std::string waiter_json(const Waiter& waiter) {
  MemberText members;
  add_waiter(members, waiter);
  return members.take_object();
}

std::string place_json(const lease_table::Place& place) {
  MemberText members;
  members.add("waiter", place.id);
  members.add("since_ms", place.waiter->since_ms);
  if (place.several) members.add_json("several", "true");
  add_waiter(members, *place.waiter);
  return members.take_object();
}

std::optional<lease_table::Place> parse_place(std::string_view json) {
  const Json object = parse(json);
  if (!object.is_object()) return std::nullopt;
  const auto id = text_at(object, "waiter");
  auto waiter = parse_waiter(json);
  if (!id || !waiter || !mode_at(object)) return std::nullopt;
  waiter->since_ms = wall_ms_at(object, "since_ms");
  const auto several = object.find("several");
  return lease_table::Place{.id = *id,
                            .waiter = std::move(*waiter),
                            .several = several != object.end() && *several == true};
}

}  // namespace dlock
