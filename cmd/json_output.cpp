// SPDX-License-Identifier: MIT
#include "cmd/json_output.hpp"

#include "base/text.hpp"
#include "cmd/holder_text.hpp"

#include <nlohmann/json.hpp>

namespace dlock {

namespace {

using Json = nlohmann::ordered_json;

// Returns JSON as one line or, with `indent`, as several lines.
std::string text_of(const Json& json, int indent = -1) {
  return printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json ms_or_null(const std::optional<Duration>& span) {
  return span ? Json(to_ms(*span)) : Json(nullptr);
}

// Returns null for zero, which means that the number is unknown.
template <class Number>
Json known(Number number) {
  return number != 0 ? Json(number) : Json(nullptr);
}

Json age_json(const HoldRecord& hold, const Holding& holding) {
  return hold.since_ms != 0 ? Json(age_of(hold, holding).count()) : Json(nullptr);
}

Json hold_json(const HoldRecord& hold, const Holding& holding) {
  return {{"id", hold.id},
          {"host", hold.who.host},
          {"pid", known(hold.who.pid)},
          {"user", hold.who.user},
          {"command", hold.who.command},
          {"reason", hold.who.reason},
          {"since_ms", known(hold.since_ms)},
          {"age_ms", age_json(hold, holding)},
          {"token", known(hold.token)},
          {"ttl_ms", known(to_ms(hold.ttl))},
          {"mode", mode_word(hold.mode)},
          {"slot", or_null(hold.slot)},
          {"kept", hold.kept}};
}

Json holds_json(const Holding& holding) {
  Json holds = Json::array();
  for (const HoldRecord& hold : holding.holds)
    holds.push_back(hold_json(hold, holding));
  return holds;
}

Json line_json(const Holding& holding) {
  Json line = Json::array();
  for (const Waiter& waiter : holding.line) {
    const HoldRecord since{.since_ms = waiter.since_ms};
    line.push_back({{"host", waiter.who.host},
                    {"pid", known(waiter.who.pid)},
                    {"user", waiter.who.user},
                    {"command", waiter.who.command},
                    {"reason", waiter.who.reason},
                    {"mode", mode_word(waiter.mode)},
                    {"slots", waiter.mode == Mode::slots ? Json(waiter.slots) : Json(nullptr)},
                    {"since_ms", known(waiter.since_ms)},
                    {"age_ms", age_json(since, holding)}});
  }
  return line;
}

// Returns the success that --once-per remembers, as JSON; null if no success is remembered.
Json success_json(const Holding& holding) {
  if (!holding.success) return nullptr;
  return {{"since_ms", holding.success->since_ms},
          {"age_ms", holding.success->ago.count()},
          {"left_ms", holding.success->left.count()}};
}

// Returns the newest run that reported its end, as JSON; null if none is remembered.
Json last_json(const Holding& holding) {
  if (!holding.last) return nullptr;
  const LastRun& last = *holding.last;
  return {{"host", last.who.host},
          {"pid", known(last.who.pid)},
          {"user", last.who.user},
          {"command", last.who.command},
          {"reason", last.who.reason},
          {"token", known(last.token)},
          {"since_ms", last.since_ms},
          {"ended_ms", last.ended_ms},
          {"held_ms", std::max<std::int64_t>(last.ended_ms - last.since_ms, 0)},
          {"waited_ms", ms_or_null(last.waited)},
          {"outcome", last.outcome},
          {"exit_status", or_null(last.exit_status)},
          {"signal", or_null(last.signal)},
          {"later_is_silent", last.later_is_silent}};
}

Json freeze_json(const Holding& holding) {
  if (!holding.frozen) return nullptr;
  const Freeze& freeze = *holding.frozen;
  return {{"host", freeze.who.host},
          {"pid", known(freeze.who.pid)},
          {"user", freeze.who.user},
          {"reason", freeze.who.reason},
          {"since_ms", known(freeze.since_ms)},
          {"left_ms", freeze.left.count()}};
}

const char* state_of(const Holding& holding) {
  switch (holding.kind) {
    case Holding::Kind::none:
      return "free";
    case Holding::Kind::lock:
      return "held";
    case Holding::Kind::foreign:
      return "foreign";
  }
  return "free";
}

void add_holders(Json& json, const Holding& holding) {
  json["type"] = holding.type;
  if (!holding.doubt.empty()) json["doubt"] = holding.doubt;
  json["mode"] = nullptr;
  if (holding.kind == Holding::Kind::lock) json["mode"] = mode_word(holding.mode);
  json["slots"] = nullptr;
  if (holding.mode == Mode::slots) json["slots"] = holding.slots;
  json["owners"] = Json::array();
  for (const Holding::Owner& owner : holding.owners) {
    json["owners"].push_back({{"id", owner.id},
                              {"count", owner.count},
                              {"lease_left_ms", ms_or_null(owner.lease_left.within())}});
  }
  json["owner_count"] = holding.owner_count;
  json["lease_left_ms"] = ms_or_null(holding.lease_left.within());
  json["lease_left"] = lease_left_word(holding.lease_left);
  json["token"] = known(token_of(holding));
  json["revoked_by"] = nullptr;
  if (!holding.revoked_by.empty()) json["revoked_by"] = holding.revoked_by;
  json["holds"] = holds_json(holding);
}

// Returns the answer of one server of a quorum as JSON.
Json vote_json(const Vote& vote) {
  Json json = {{"url", vote.server}};
  if (!vote.trouble.empty()) {
    json["state"] = "unknown";
    json["error"] = vote.trouble;
    return json;
  }
  json["state"] = state_of(vote.holding);
  json["owners"] = Json::array();
  for (const Holding::Owner& owner : vote.holding.owners)
    json["owners"].push_back(owner.id);
  const LeaseLeft& left = vote.holding.lease_left;
  if (left.within()) json["lease_left_ms"] = to_ms(*left.within());
  if (vote.holding.kind != Holding::Kind::none) json["lease_left"] = lease_left_word(left);
  return json;
}

Json holding_json(const NamedHolding& named) {
  const Holding& holding = named.holding;
  Json json = {{"name", named.name}, {"key", named.key}, {"state", state_of(holding)}};
  if (holding.kind != Holding::Kind::none) add_holders(json, holding);
  json["waiting"] = holding.waiting;
  json["line"] = line_json(holding);
  json["success"] = success_json(holding);
  json["frozen"] = freeze_json(holding);
  json["last"] = last_json(holding);
  for (const Vote& vote : holding.votes)
    json["servers"].push_back(vote_json(vote));
  return json;
}

Json released_json(RunSummary::Released released) {
  switch (released) {
    case RunSummary::Released::nothing:
      return nullptr;
    case RunSummary::Released::yes:
      return "yes";
    case RunSummary::Released::no:
      return "no";
    case RunSummary::Released::unknown:
      return "unknown";
  }
  return nullptr;
}

void add_ending(Json& json, const Outcome& outcome) {
  if (outcome.ran()) {
    if (outcome.child.kind == ChildStatus::Kind::exited) json["exit_code"] = outcome.child.value;
    if (outcome.child.kind == ChildStatus::Kind::signalled) json["signal"] = outcome.child.value;
  } else if (outcome.kind == Outcome::Kind::signalled) {
    json["signal"] = outcome.signal;
  } else if (outcome.kind == Outcome::Kind::busy && outcome.refusal) {
    json["holder"] = holder_text(outcome.refusal->holding, outcome.seen_ago);
    json["holders"] = holds_json(outcome.refusal->holding);
  }
}

// Returns one hold as JSON.
Json held_json(const Hold& hold) {
  return {{"name", hold.name.text()},
          {"hold", hold_id(hold.owner, hold.serial)},
          {"token", known(hold.token)},
          {"mode", mode_word(hold.mode)},
          {"slot", or_null(hold.slot)}};
}

const char* level_word(Level level) {
  switch (level) {
    case Level::error:
      return "error";
    case Level::warning:
      return "warning";
    case Level::info:
      return "info";
    case Level::good:
      return "good";
    case Level::not_seen:
      return "not_seen";
  }
  return "";
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json server_json(const ExaminedServer& server) {
  const auto ms = [](Duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  Json json = {{"url", server.url},
               {"product", text_or_null(server.product)},
               {"version", text_or_null(server.version)},
               {"role", text_or_null(server.role)},
               {"latency_ms", nullptr}};
  if (server.p50 && server.p99)
    json["latency_ms"] = {{"p50", ms(*server.p50)}, {"p99", ms(*server.p99)}};
  return json;
}

}  // namespace

std::string holdings_json(const std::vector<NamedHolding>& holdings) {
  Json json = {{"schema", 1}, {"locks", Json::array()}};
  for (const NamedHolding& one : holdings)
    json["locks"].push_back(holding_json(one));
  return text_of(json, 2);
}

std::string result_json(const std::vector<LockName>& names,
                        const Outcome& outcome,
                        const std::string& error,
                        int exit_status) {
  const RunSummary& summary = outcome.summary;
  const Hold* const first = summary.holds.empty() ? nullptr : &summary.holds.front();
  Json json = {{"version", 1}, {"outcome", outcome_word(outcome)}, {"lock", join_names(names)}};
  json["exit_status"] = exit_status;
  json["hold"] = nullptr;
  if (first != nullptr) json["hold"] = hold_id(first->owner, first->serial);
  json["token"] = first != nullptr ? known(first->token) : Json(nullptr);
  json["locks"] = Json::array();
  for (const Hold& hold : summary.holds)
    json["locks"].push_back(held_json(hold));
  json["waited_ms"] = to_ms(summary.waited);
  json["held_ms"] = to_ms(summary.held);
  add_ending(json, outcome);
  if (!error.empty()) {
    json["error"] = error;
    json["code"] = exit_status;
  }
  json["lost"] = summary.lost;
  json["released"] = released_json(summary.released);
  return text_of(json);
}

std::string acquired_json(const Holds& holds,
                          std::chrono::milliseconds expires,
                          const std::string& entries) {
  Json json = {{"version", 1}, {"locks", Json::array()}};
  for (const Hold& hold : holds) {
    Json lock = {{"name", hold.name.text()}, {"owner", hold.owner}};
    lock.update(held_json(hold));
    json["locks"].push_back(std::move(lock));
  }
  json["ttl_ms"] = to_ms(holds.front().ttl);
  json["expires"] = static_cast<double>(expires.count()) / 1000;
  json["holds"] = entries;
  return text_of(json);
}

namespace {

Json identity_json(const Identity& identity) {
  const std::string digest = digest_of(identity);
  Json json = {{"digest", digest.empty() ? Json() : Json(digest)},
               {"parts", Json::array()},
               {"not_seen", identity.unseen.empty() ? Json() : Json(identity.unseen)}};
  for (const Identity::Part& part : identity.parts)
    json["parts"].push_back({{"name", part.name}, {"value", part.value}});
  return json;
}

}  // namespace

std::string examination_json(const Examination& examination, bool ok) {
  Json json = {{"version", 1}, {"url", examination.url}, {"servers", Json::array()}};
  for (const ExaminedServer& one : examination.servers)
    json["servers"].push_back(server_json(one));
  json["identity"] = identity_json(examination.identity);
  json["findings"] = Json::array();
  json["not_seen"] = Json::array();
  for (const Finding& one : examination.findings) {
    if (one.level == Level::not_seen) {
      json["not_seen"].push_back({{"id", one.id}, {"server", one.server}, {"reason", one.seen}});
    } else {
      json["findings"].push_back({{"id", one.id},
                                  {"level", level_word(one.level)},
                                  {"server", one.server},
                                  {"seen", one.seen},
                                  {"text", one.text},
                                  {"remedy", one.remedy}});
    }
  }
  json["ok"] = ok;
  return text_of(json, 2);
}

std::string settings_json(const std::vector<InForce>& settings) {
  Json json = {{"version", 1}, {"settings", Json::array()}};
  for (const InForce& one : settings) {
    json["settings"].push_back({{"name", one.setting->name},
                                {"value", one.value ? Json(*one.value) : Json()},
                                {"source", one.place.empty() ? "default" : one.place}});
  }
  return text_of(json, 2);
}

}  // namespace dlock
