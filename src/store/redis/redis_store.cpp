// SPDX-License-Identifier: MIT
#include "store/redis/redis_store.hpp"

#include "base/text.hpp"
#include "store/record_json.hpp"
#include "store/redis/redis_keys.hpp"
#include "store/redis/redis_url.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "scripts.gen.hpp"

namespace dlock {

namespace {

constexpr std::size_t k_most_names = 100000;  // of one list

// How the claim stands in line: see line.lua. The same for as long as it waits.
std::string waiter_of(const Claim& claim) {
  if (claim.stand == Stand::no) return "";
  std::string text = R"({"id":")" + hold_id(claim.owner, claim.serial) + R"(",)";
  if (claim.stand == Stand::polling) text += R"("polls":true,)";
  return text + holder_json(claim.who, claim.ttl).substr(1);
}

bool is_side_key(std::string_view key) {
  if (key.find('{') == std::string_view::npos) return false;
  for (const std::string_view start : {"dlock:holds:",
                                       "dlock:revoked:",
                                       "dlock:line:",
                                       "dlock:waiters:",
                                       "redisson_lock_token:",
                                       "redisson_unlock_latch:"}) {
    if (key.starts_with(start)) return true;
  }
  return false;
}

// "{x}" and "x" would have the same side keys.
bool is_only_a_tag(std::string_view key) {
  return key.size() >= 2 && key.front() == '{' && key.back() == '}' &&
         key.find('{', 1) == std::string_view::npos;
}

std::string glob_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]\\^").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

Error unexpected(const std::string& where) {
  return {Errc::protocol, where + " answered a script with something else than it returns"};
}

// See holding.lua.
Result<Holding> read_holding(ReplyView reply, const std::string& where) {
  if (reply.size() != 8) return unexpected(where);
  Holding holding;
  holding.type = reply[0].string();
  holding.kind = holding.type == "none"   ? Holding::Kind::free
                 : holding.type == "hash" ? Holding::Kind::lock
                                          : Holding::Kind::foreign;
  const long long left_ms = reply[1].integer();
  if (left_ms >= 0) holding.lease_left = std::chrono::milliseconds(left_ms);
  holding.now_ms = reply[2].integer();
  holding.owner_count = static_cast<std::uint64_t>(std::max(reply[3].integer(), 0LL));
  for (std::size_t i = 0; i + 1 < reply[4].size(); i += 2) {
    holding.owners.push_back(
        {std::string(reply[4][i].string()), std::string(reply[4][i + 1].string())});
  }
  for (std::size_t i = 0; i + 1 < reply[5].size(); i += 2) {
    // Records outlive a lock that was deleted or overwritten: only those of its owners count.
    const std::string id(reply[5][i].string());
    const auto is_owner = [&](const Holding::Owner& one) { return id.starts_with(one.id + '#'); };
    if (std::none_of(holding.owners.begin(), holding.owners.end(), is_owner)) continue;
    auto record = parse_hold_record(id, reply[5][i + 1].string());
    if (record) holding.holds.push_back(std::move(*record));
  }
  holding.revoked_by = reply[6].string();
  holding.waiting = static_cast<std::uint64_t>(std::max(reply[7].integer(), 0LL));
  return holding;
}

std::string describe(const Holding& holding) {
  if (holding.kind == Holding::Kind::free) return "nobody holds it";
  if (holding.kind == Holding::Kind::foreign)
    return "a foreign lock (" + holding.type + ") stands there";
  if (!holding.holds.empty()) {
    return who_text(holding.holds.front().who) + " holds it";
  }
  return holding.owners.empty() ? "another holds it"
                                : printable(holding.owners.front().id) + " holds it";
}

}  // namespace

Result<std::unique_ptr<LockStore>> RedisStore::open(const StoreOptions& options) {
  auto address = parse_redis_url(options.url);
  if (!address) return address.error();
  if (address->password.empty()) address->password = options.password;
  return std::unique_ptr<LockStore>(new RedisStore(*address, options.prefix, options.interrupt));
}

Result<std::string> RedisStore::key_of(const LockName& name) const {
  std::string key = prefix_ + name.text();
  if (is_side_key(key)) {
    return Error{Errc::bad_usage,
                 "the lock name " + in_quotes(name.text()) + " would stand at " + in_quotes(key) +
                     ", where dlock keeps notes on another lock"};
  }
  if (is_only_a_tag(key)) {
    return Error{Errc::bad_usage,
                 "the lock name " + in_quotes(name.text()) +
                     " is nothing but a hash tag and would share its notes with " +
                     in_quotes(key.substr(1, key.size() - 2))};
  }
  return key;
}

Result<AcquireReply> RedisStore::acquire(const Claim& claim, Time limit) {
  auto key = key_of(claim.name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  const std::string ttl_ms = std::to_string(to_ms(claim.ttl));
  const std::string record = holder_json(claim.who, claim.ttl).substr(1);
  const std::string waiter = waiter_of(claim);
  const std::string most = claim.max_waiters ? std::to_string(*claim.max_waiters) : "";
  Words args{claim.owner, claim.serial, ttl_ms, record, waiter, most, keys.turn};
  for (auto above = claim.ancestors.rbegin(); above != claim.ancestors.rend(); ++above) {
    args.push_back(above->owner);
    args.push_back(above->serial);
  }
  auto answer =
      client_.run(lua::k_acquire,
                  {keys.lock, keys.token, keys.holds, keys.revoked, keys.line, keys.waiters},
                  args,
                  limit);
  if (!answer) return answer.error();
  const ReplyView reply = answer->reply.view();
  const std::string_view verdict = reply[0].string();
  if (verdict == "busy") {
    auto holding = read_holding(reply[1], where());
    if (!holding) return holding.error();
    holding->place = static_cast<std::uint64_t>(std::max(reply[2].integer(), 0LL));
    return AcquireReply(std::move(*holding));
  }
  const bool nested = verdict == "nested";
  const OwnerId owner(reply[1].string());
  const auto granted = parse_hold_record(hold_id(owner, claim.serial), reply[2].string());
  if ((verdict != "granted" && !nested) || !granted) return unexpected(where());
  return AcquireReply(Grant{.hold = {.name = claim.name,
                                     .owner = owner,
                                     .serial = claim.serial,
                                     .token = granted->token,
                                     .since_ms = granted->since_ms,
                                     .ttl = claim.ttl,
                                     .who = claim.who,
                                     .nested = nested},
                            .sent_at = answer->sent_at});
}

Result<RenewReply> RedisStore::renew(const Hold& hold, Time limit) {
  return ask_about(hold, hold.ttl, limit);
}

Result<RenewReply> RedisStore::check(const Hold& hold, Time limit) {
  return ask_about(hold, Duration::zero(), limit);
}

Result<RenewReply> RedisStore::ask_about(const Hold& hold, Duration ttl, Time limit) {
  auto key = key_of(hold.name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  const std::string ttl_ms = std::to_string(to_ms(ttl));
  auto answer = client_.run(lua::k_renew,
                            {keys.lock, keys.holds, keys.revoked},
                            {hold.owner, hold.serial, ttl_ms},
                            limit);
  if (!answer) return answer.error();
  const ReplyView reply = answer->reply.view();
  const std::string_view verdict = reply[0].string();
  if (verdict == "renewed") return RenewReply{RenewVerdict::renewed, answer->sent_at, ""};
  if (verdict == "held") return RenewReply{RenewVerdict::held, answer->sent_at, ""};
  if (verdict == "revoked") {
    return RenewReply{RenewVerdict::revoked, answer->sent_at, std::string(reply[1].string())};
  }
  if (verdict != "lost") return unexpected(where());
  auto holding = read_holding(reply[1], where());
  if (!holding) return holding.error();
  return RenewReply{RenewVerdict::lost, answer->sent_at, describe(*holding)};
}

Result<ReleaseVerdict> RedisStore::release(const Hold& hold, Time limit) {
  auto key = key_of(hold.name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  auto answer = client_.run(lua::k_release,
                            {keys.lock, keys.holds, keys.revoked, keys.line, keys.waiters},
                            {hold.owner, hold.serial, keys.channel, keys.turn},
                            limit);
  if (!answer) return answer.error();
  const std::string_view verdict = answer->reply[0].string();
  if (verdict == "released") return ReleaseVerdict::released;
  if (verdict == "still_held") return ReleaseVerdict::still_held;
  if (verdict == "not_held") return ReleaseVerdict::not_held;
  return unexpected(where());
}

Result<void> RedisStore::leave(const Claim& claim, Time limit) {
  if (claim.stand == Stand::no) return {};
  auto key = key_of(claim.name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  auto answer = client_.run(
      lua::k_leave, {keys.lock, keys.line, keys.waiters}, {waiter_of(claim), keys.turn}, limit);
  if (!answer) return answer.error();
  return {};
}

Result<Holding> RedisStore::inspect(const LockName& name, Time limit) {
  auto key = key_of(name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  auto answer = client_.run(
      lua::k_inspect, {keys.lock, keys.holds, keys.revoked, keys.line, keys.waiters}, {}, limit);
  if (!answer) return answer.error();
  auto holding = read_holding(answer->reply[0], where());
  if (!holding) return holding;
  const ReplyView line = answer->reply[1];
  for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
    const auto record = parse_hold_record("", line[i].string());
    if (!record) continue;
    std::int64_t arrival_us = 0;
    const std::string_view text = line[i + 1].string();
    std::from_chars(text.data(), text.data() + text.size(), arrival_us);
    holding->line.push_back({.who = record->who, .since_ms = arrival_us / 1000});
  }
  return holding;
}

Result<std::vector<std::string>> RedisStore::list(std::string_view glob, Time limit) {
  const std::string pattern = glob_escaped(prefix_) + std::string(glob);
  std::vector<std::string> names;
  std::string cursor = "0";
  do {
    auto answer = client_.call({"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"}, limit);
    if (!answer) return answer.error();
    const ReplyView reply = answer->reply.view();
    if (reply.size() != 2) return unexpected(where());
    cursor = reply[0].string();
    for (std::size_t i = 0; i < reply[1].size(); ++i) {
      const std::string_view key = reply[1][i].string();
      if (is_side_key(key) || key.size() <= prefix_.size()) continue;
      names.emplace_back(key.substr(prefix_.size()));
      if (names.size() > k_most_names) {
        return Error{Errc::refused,
                     where() + " has more than " + std::to_string(k_most_names) +
                         " keys that match; give a narrower pattern"};
      }
    }
  } while (cursor != "0");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());  // SCAN may tell one twice
  return names;
}

Result<RevokeReply> RedisStore::revoke(const LockName& name, const RevokeOrder& order, Time limit) {
  auto key = key_of(name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  const std::string token = order.if_token ? std::to_string(*order.if_token) : "";
  auto answer = client_.run(lua::k_revoke,
                            {keys.lock, keys.holds, keys.revoked, keys.line, keys.waiters},
                            {order.by,
                             order.now ? "1" : "0",
                             order.if_owner.value_or(""),
                             token,
                             keys.channel,
                             keys.turn},
                            limit);
  if (!answer) return answer.error();
  const ReplyView reply = answer->reply.view();
  auto before = read_holding(reply[1], where());
  if (!before) return before.error();
  constexpr std::array<std::pair<std::string_view, RevokeVerdict>, 5> k_verdicts{{
      {"revoked", RevokeVerdict::revoked},
      {"deleted", RevokeVerdict::deleted},
      {"nothing", RevokeVerdict::nothing},
      {"not_dlock", RevokeVerdict::not_dlock},
      {"other_holder", RevokeVerdict::other_holder},
  }};
  for (const auto& [word, verdict] : k_verdicts) {
    if (reply[0].string() == word) return RevokeReply{verdict, std::move(*before)};
  }
  return unexpected(where());
}

}  // namespace dlock
