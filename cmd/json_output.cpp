// SPDX-License-Identifier: MIT
#include "cmd/json_output.hpp"

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

Json holding_json(const NamedHolding& named) {
  const Holding& holding = named.holding;
  Json json = {{"name", named.name}, {"key", named.key}, {"state", state_of(holding)}};
  if (holding.kind == Holding::Kind::free) return json;
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
  return json;
}

}  // namespace

std::string holdings_json(const std::vector<NamedHolding>& holdings) {
  Json json = {{"schema", 1}, {"locks", Json::array()}};
  for (const NamedHolding& one : holdings)
    json["locks"].push_back(holding_json(one));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlock
