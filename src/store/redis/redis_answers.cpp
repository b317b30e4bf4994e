// SPDX-License-Identifier: MIT
#include "store/redis/redis_answers.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/record_json.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

std::string_view info_field(std::string_view info, std::string_view name) {
  const auto at = info.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = info.substr(at + name.size());
  return rest.substr(0, rest.find_first_of("\r\n"));
}

// Returns this many milliseconds, at most as many as a Duration can express: a key may last longer.
Duration ms(long long number) {
  return bounded(std::chrono::milliseconds(number));
}

std::uint64_t count(long long number) {
  return static_cast<std::uint64_t>(std::max(number, 0LL));
}

// Returns the number at the beginning of the text, or 0 if there is no number.
std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::int64_t wall_ms(std::int64_t number) {
  return std::clamp<std::int64_t>(number, 0, lease_table::k_latest_ms);
}

std::chrono::milliseconds ms_left(ReplyView left) {
  const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(k_longest_duration);
  return std::clamp(std::chrono::milliseconds(left.integer()), 0ms, most);
}

LastSuccess success_of(ReplyView since, std::int64_t now_ms, ReplyView left) {
  const std::int64_t since_ms = wall_ms(number_in(since.string()));
  return {.since_ms = since_ms,
          .ago = std::chrono::milliseconds(std::max<std::int64_t>(now_ms - since_ms, 0)),
          .left = ms_left(left)};
}

Freeze freeze_from(ReplyView left, ReplyView record) {
  Freeze freeze{.left = ms_left(left)};
  if (const auto read = parse_hold_record("", record.string())) {
    freeze.who = read->who;
    freeze.since_ms = read->since_ms;
  }
  return freeze;
}

// Reads the newest run that reported its end; nullopt: the text is damaged.
std::optional<LastRun> last_from(ReplyView reply, const Holding& holding) {
  auto last = parse_end(reply[0].string());
  if (!last) return std::nullopt;
  last->run.ended_ms = holding.now_ms - (last->keep - ms_left(reply[1])).count();
  const bool held = std::any_of(
      holding.holds.begin(), holding.holds.end(), [](const auto& one) { return !one.kept; });
  const bool foreign = holding.holds.empty() && holding.kind != Holding::Kind::none;
  const auto newest = static_cast<FencingToken>(number_in(reply[2].string()));
  last->run.later_is_silent = !held && !foreign && newest > last->newest;
  return std::move(last->run);
}

void read_owners(Holding& holding, ReplyView owners) {
  for (std::size_t i = 0; i + 2 < owners.size(); i += 3) {
    Holding::Owner owner{std::string(owners[i].string()), std::string(owners[i + 1].string())};
    if (const long long left = owners[i + 2].integer(); left >= 0) owner.lease_left = ms(left);
    holding.owners.push_back(std::move(owner));
  }
}

Result<AcquireReply> read_busy(ReplyView reply, std::size_t which, const std::string& where) {
  auto holding = read_holding(reply[1], where);
  if (!holding) return holding.error();
  Refusal refusal{.holding = std::move(*holding),
                  .which = which,
                  .place = count(reply[2].integer()),
                  .by_ancestor = reply[5].integer() == 1};
  if (const long long left = reply[4].integer(); left >= 0) refusal.turn_left = ms(left);
  return AcquireReply(std::move(refusal));
}

// Returns whether `owner` can be the owner of a hold that the claim was granted: it is the claim's
// own owner, or the owner of an ancestor whose hold the claim joins.
bool may_own(const OwnerId& owner, const Claim& claim) {
  const auto& above = claim.ancestors;
  return owner == claim.owner || std::any_of(above.begin(), above.end(), [&](const auto& hold) {
           return hold.owner == owner;
         });
}

// Returns the hold of the claim's name `i` that the reply grants; nullopt: it cannot be one.
std::optional<Hold> hold_in(const Claim& claim,
                            std::size_t i,
                            const OwnerId& owner,
                            ReplyView json) {
  const auto record = parse_granted_record(hold_id(owner, claim.serial), json.string());
  if (!record || !may_own(owner, claim)) return std::nullopt;
  return hold_of(claim, i, owner, *record);
}

// Reads the grant of all names. A record alone is that of the claim's one name.
Result<AcquireReply> read_grant(const Claim& claim,
                                const Answer& answer,
                                const std::string& where) {
  const ReplyView reply = answer.reply.view();
  const bool alone = reply.is_string();
  const std::size_t names = alone ? 1 : reply.size() / 2;
  if (names != claim.names.size()) return unexpected_answer(where);
  Grant grant{.holds = {}, .sent_at = answer.sent_at};
  for (std::size_t i = 0; i < names; ++i) {
    auto hold = alone ? hold_in(claim, i, claim.owner, reply)
                      : hold_in(claim, i, OwnerId(reply[1 + 2 * i].string()), reply[2 + 2 * i]);
    if (!hold) return unexpected_answer(where);
    grant.holds.push_back(std::move(*hold));
  }
  return AcquireReply(std::move(grant));
}

// Reads the grant of one of several names.
Result<AcquireReply> read_grant_of_one(const Claim& claim,
                                       std::size_t which,
                                       const Answer& answer,
                                       const std::string& where) {
  const ReplyView reply = answer.reply.view();
  auto hold = hold_in(claim, which, OwnerId(reply[2].string()), reply[3]);
  if (!hold) return unexpected_answer(where);
  return AcquireReply(Grant{.holds = {std::move(*hold)}, .sent_at = answer.sent_at});
}

// Returns the index of a name in the claim, from its number in the script; nullopt: there is no
// such name. The script knows the names in the order in which the claim prefers them.
std::optional<std::size_t> index_of(const Claim& claim, ReplyView number) {
  const auto which = static_cast<std::size_t>(count(number.integer()));
  if (which >= claim.names.size()) return std::nullopt;
  return order_of(claim)[which];
}

}  // namespace

std::string run_id_in(std::string_view info) {
  return std::string(info_field(info, "run_id:"));
}

Duration uptime_in(std::string_view info) {
  const std::string_view text = info_field(info, "uptime_in_seconds:");
  long long seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  // The server computes the uptime from two times in whole seconds, so it may have run a second
  // less.
  return bounded(std::chrono::seconds(std::max(seconds, 1LL) - 1));
}

Error unexpected_answer(const std::string& where) {
  return {Errc::protocol, where + " sent an unexpected reply to a script"};
}

// Reads the state of a lock from a reply, as parts/holding.lua describes it.
Result<Holding> read_holding(ReplyView reply, const std::string& where) {
  if (reply.size() != 11) return unexpected_answer(where);
  Holding holding;
  holding.type = reply[0].string();
  holding.kind = holding.type == "none"   ? Holding::Kind::none
                 : holding.type == "hash" ? Holding::Kind::lock
                                          : Holding::Kind::foreign;
  const long long left = reply[1].integer();
  if (left >= 0) holding.lease_left = ms(left);
  if (left == -1) holding.lease_left = LeaseLeft::never();
  holding.now_ms = wall_ms(reply[2].integer());
  holding.owner_count = count(reply[3].integer());
  read_owners(holding, reply[4]);
  for (std::size_t i = 0; i + 1 < reply[5].size(); i += 2) {
    // A record may outlive its lock if another program deleted or overwrote the lock. So a record
    // counts only if its owner still holds the lock.
    const std::string id(reply[5][i].string());
    const auto is_owner = [&](const Holding::Owner& one) { return is_hold_of(id, one.id); };
    if (std::none_of(holding.owners.begin(), holding.owners.end(), is_owner)) continue;
    const std::string_view json = reply[5][i + 1].string();
    auto record = parse_hold_record(id, json);
    if (record) {
      holding.holds.push_back(std::move(*record));
    } else if (const auto layout = layout_of(json); layout > lease_table::k_layout) {
      return of_newer_dlock("a lock in " + where, layout);
    }
  }
  holding.revoked_by = reply[6].string();
  holding.waiting = count(reply[7].integer());
  // If this dlock does not know the mode, it takes the lock for one that excludes all others.
  holding.mode = parse_stored_mode(reply[8].string()).value_or(Mode::plain);
  holding.slots = static_cast<std::uint32_t>(count(reply[9].integer()));
  if (reply[10].size() == 2) holding.frozen = freeze_from(reply[10][0], reply[10][1]);
  return holding;
}

Result<Holding> read_inspected(const Answer& answer, const std::string& where) {
  auto holding = read_holding(answer.reply[0], where);
  if (!holding) return holding;
  const ReplyView line = answer.reply[1];
  for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
    auto waiter = parse_waiter(line[i].string());
    if (!waiter) continue;
    waiter->since_ms = wall_ms(number_in(line[i + 1].string()) / 1000);
    holding->line.push_back(std::move(*waiter));
  }
  const ReplyView success = answer.reply[2];
  if (success.size() == 2) {
    holding->success = success_of(success[0], holding->now_ms, success[1]);
  }
  if (const ReplyView last = answer.reply[3]; last.size() == 3)
    holding->last = last_from(last, *holding);
  return holding;
}

Result<std::optional<LastSuccess>> read_forgotten(const Answer& answer, const std::string& where) {
  const ReplyView reply = answer.reply.view();
  const std::string_view verdict = reply[0].string();
  if (verdict == "nothing") return std::optional<LastSuccess>();
  if (verdict != "forgotten" || reply.size() != 4) return unexpected_answer(where);
  return std::optional(success_of(reply[1], reply[2].integer(), reply[3]));
}

Result<std::optional<Freeze>> read_unfrozen(const Answer& answer, const std::string& where) {
  const ReplyView reply = answer.reply.view();
  const std::string_view verdict = reply[0].string();
  if (verdict == "nothing") return std::optional<Freeze>();
  if (verdict != "unfrozen" || reply.size() != 3) return unexpected_answer(where);
  return std::optional(freeze_from(reply[1], reply[2]));
}

Result<AcquireReply> read_claimed(const Claim& claim,
                                  const Answer& answer,
                                  const std::string& where) {
  const ReplyView reply = answer.reply.view();
  const std::string_view verdict = reply.is_string() ? "granted" : reply[0].string();
  if (verdict == "granted" && !claim.one_from) return read_grant(claim, answer, where);
  if (verdict == "superseded") {
    const auto newer = parse_waiter(reply[1].string());
    return AcquireReply(Refusal{.superseded_by = newer.value_or(Waiter{}).who});
  }
  if (verdict == "done") return AcquireReply(Done{ms(reply[1].integer())});
  const auto which = index_of(claim, reply[verdict == "busy" ? 3 : 1]);
  if (!which) return unexpected_answer(where);
  if (verdict == "granted") return read_grant_of_one(claim, *which, answer, where);
  if (verdict == "busy") return read_busy(reply, *which, where);
  if (verdict == "lost") return lost_above(claim.names[*which]);
  return unexpected_answer(where);
}

Result<RenewReply> read_renewed(const Answer& answer, std::size_t names, const std::string& where) {
  const ReplyView reply = answer.reply.view();
  const std::string_view verdict = reply[0].string();
  if (verdict == "renewed") return RenewReply{RenewVerdict::renewed, answer.sent_at};
  if (verdict == "held") return RenewReply{RenewVerdict::held, answer.sent_at};
  const auto which = static_cast<std::size_t>(count(reply[2].integer()));
  if (which >= names || (verdict != "revoked" && verdict != "lost"))
    return unexpected_answer(where);
  if (verdict == "revoked") {
    return RenewReply{.verdict = RenewVerdict::revoked,
                      .sent_at = answer.sent_at,
                      .revoked_by = std::string(reply[1].string()),
                      .which = which};
  }
  auto holding = read_holding(reply[1], where);
  if (!holding) return holding.error();
  return RenewReply{.verdict = RenewVerdict::lost,
                    .sent_at = answer.sent_at,
                    .holding = std::move(*holding),
                    .some_left = names > 1,
                    .which = which,
                    .released = reply[3].integer() == 1};
}

Result<ReleaseVerdict> read_released(const Answer& answer,
                                     std::size_t names,
                                     const std::string& where) {
  auto worst = ReleaseVerdict::released;
  const auto words = split(answer.reply.string(), ' ');
  if (words.size() != names) return unexpected_answer(where);
  for (const std::string_view word : words) {
    if (word == "not_held") {
      worst = ReleaseVerdict::not_held;
    } else if (word == "still_held") {
      worst = std::max(worst, ReleaseVerdict::still_held);
    } else if (word != "released") {
      return unexpected_answer(where);
    }
  }
  return worst;
}

}  // namespace dlock
