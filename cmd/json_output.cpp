// SPDX-License-Identifier: MIT
#include "cmd/json_output.hpp"

#include "cmd/voice.hpp"

#include <nlohmann/json.hpp>

namespace dlock {

namespace {

using Json = nlohmann::ordered_json;

Json hold_json(const HoldRecord& hold, const Holding& holding) {
  return {{"id", hold.id},
          {"host", hold.who.host},
          {"pid", hold.who.pid},
          {"user", hold.who.user},
          {"command", hold.who.command},
          {"reason", hold.who.reason},
          {"since_ms", hold.since_ms},
          {"age_ms", age_of(hold, holding).count()},
          {"token", hold.token},
          {"ttl_ms", to_ms(hold.ttl)}};
}

Json line_json(const Holding& holding) {
  Json line = Json::array();
  for (const Waiter& waiter : holding.line) {
    const HoldRecord since{.since_ms = waiter.since_ms};
    line.push_back({{"host", waiter.who.host},
                    {"pid", waiter.who.pid},
                    {"user", waiter.who.user},
                    {"command", waiter.who.command},
                    {"reason", waiter.who.reason},
                    {"since_ms", waiter.since_ms},
                    {"age_ms", age_of(since, holding).count()}});
  }
  return line;
}

const char* state_of(const Holding& holding) {
  switch (holding.kind) {
    case Holding::Kind::free:
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
  json["owners"] = Json::array();
  for (const Holding::Owner& owner : holding.owners) {
    json["owners"].push_back({{"id", owner.id}, {"count", owner.count}});
  }
  json["owner_count"] = holding.owner_count;
  json["lease_left_ms"] = nullptr;
  if (holding.lease_left) json["lease_left_ms"] = to_ms(*holding.lease_left);
  const FencingToken token = token_of(holding);
  json["token"] = nullptr;
  if (token != 0) json["token"] = token;
  json["revoked_by"] = nullptr;
  if (!holding.revoked_by.empty()) json["revoked_by"] = holding.revoked_by;
  json["holds"] = Json::array();
  for (const HoldRecord& hold : holding.holds)
    json["holds"].push_back(hold_json(hold, holding));
}

Json holding_json(const NamedHolding& named) {
  const Holding& holding = named.holding;
  Json json = {{"name", named.name}, {"key", named.key}, {"state", state_of(holding)}};
  if (holding.kind != Holding::Kind::free) add_holders(json, holding);
  json["waiting"] = holding.waiting;
  json["line"] = line_json(holding);
  return json;
}

const char* word_for(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::child:
      return outcome.child.kind == ChildStatus::Kind::not_started ? "failed" : "child";
    case Outcome::Kind::busy:
      return "busy";
    case Outcome::Kind::failed:
      return "failed";
    case Outcome::Kind::lost:
      return "lost";
    case Outcome::Kind::signalled:
      return "signalled";
  }
  return "failed";
}

Json released_json(Account::Released released) {
  switch (released) {
    case Account::Released::nothing:
      return nullptr;
    case Account::Released::yes:
      return "yes";
    case Account::Released::no:
      return "no";
    case Account::Released::unknown:
      return "unknown";
  }
  return nullptr;
}

void add_ending(Json& json, const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::child || outcome.kind == Outcome::Kind::lost) {
    if (outcome.child.kind == ChildStatus::Kind::exited) json["exit_code"] = outcome.child.value;
    if (outcome.child.kind == ChildStatus::Kind::signalled) json["signal"] = outcome.child.value;
  } else if (outcome.kind == Outcome::Kind::signalled) {
    json["signal"] = outcome.signal;
  } else if (outcome.kind == Outcome::Kind::busy && outcome.holding) {
    json["holder"] = holder_text(*outcome.holding, outcome.seen_ago);
  }
}

}  // namespace

std::string holdings_json(const std::vector<NamedHolding>& holdings) {
  Json json = {{"schema", 1}, {"locks", Json::array()}};
  for (const NamedHolding& one : holdings)
    json["locks"].push_back(holding_json(one));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string result_json(const LockName& lock, const Outcome& outcome, const std::string& error) {
  const Account& account = outcome.account;
  const bool granted = !account.hold.empty();
  Json json = {{"version", 1}, {"outcome", word_for(outcome)}, {"lock", lock.text()}};
  json["hold"] = nullptr;
  if (granted) json["hold"] = account.hold;
  json["token"] = nullptr;
  if (granted) json["token"] = account.token;
  json["waited_ms"] = to_ms(account.waited);
  json["held_ms"] = to_ms(account.held);
  add_ending(json, outcome);
  if (!error.empty()) json["error"] = error;
  json["lost"] = account.lost;
  json["released"] = released_json(account.released);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlock
