// SPDX-License-Identifier: MIT
#include "store/redis/redis_store.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "store/record_json.hpp"
#include "store/redis/cluster_route.hpp"
#include "store/redis/failover_time.hpp"
#include "store/redis/redis_answers.hpp"
#include "store/redis/redis_keys.hpp"
#include "store/redis/sentinel_route.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <variant>

#include "scripts.gen.hpp"

namespace dlock {

namespace {

// Returns the text that describes a waiting claim, in the form that line.lua reads; empty: the
// claim does not wait.
std::string waiter_of(const Claim& claim, Queueing queueing) {
  if (queueing == Queueing::no) return "";
  std::string text = R"({"id":")" + waiter_id(claim) + R"(",)";
  if (queueing == Queueing::polling) text += R"("polls":true,)";
  if (claim.mode != Mode::plain) {
    text += R"("mode":")" + std::string(stored_mode(claim.mode)) + R"(",)";
  }
  if (claim.mode == Mode::slots) text += R"("slots":)" + std::to_string(claim.slots) + ',';
  if (claim.who.came_ms == 0) return text + holder_json(claim.who, claim.ttl).substr(1);
  HolderInfo who = claim.who;
  who.came_ms = 0;  // the text must stay the same while the claim waits
  return text + holder_json(who, claim.ttl).substr(1);
}

// Returns what the claim asks for beyond a plain lock, in the form that claim.lua reads; empty:
// nothing.
std::string asked_by(const Claim& claim) {
  std::string text;
  const auto add = [&](std::string_view word, std::string_view value) {
    text.append(text.empty() ? "" : " ").append(word).append("=").append(value);
  };
  if (claim.mode != Mode::plain) add("mode", stored_mode(claim.mode));
  if (claim.mode == Mode::slots) add("slots", std::to_string(claim.slots));
  if (claim.once_per > Duration::zero()) add("once", std::to_string(to_ms(claim.once_per)));
  if (claim.max_waiters) add("most", std::to_string(*claim.max_waiters));
  if (claim.proposes != 0) add("token", std::to_string(claim.proposes));
  return text;
}

}  // namespace

std::unique_ptr<RedisStore> RedisStore::open(const RedisPlace& place, const StoreOptions& options) {
  const auto store_of = [&](std::shared_ptr<Route> route, const RedisAddress& address) {
    return std::unique_ptr<RedisStore>(new RedisStore(std::move(route), address, options));
  };
  if (const auto* const set = std::get_if<SentinelSet>(&place))
    return store_of(std::make_shared<SentinelRoute>(*set), set->server);
  if (const auto* const cluster = std::get_if<ClusterSet>(&place)) {
    RedisAddress address = cluster->seeds.front();
    address.text = cluster->text;
    return store_of(std::make_shared<ClusterRoute>(cluster->seeds), address);
  }
  const auto& server = std::get<RedisAddress>(place);
  auto store = store_of(std::make_shared<FixedRoute>(server), server);
  store->wanted_replicas_ = options.replicas.value_or(0);
  return store;
}

Result<std::string> RedisStore::key_of(const LockName& name) const {
  std::string key = prefix_ + name.text();
  if (is_metadata_key(key)) {
    return Error{Errc::bad_usage,
                 "the lock name " + in_quotes(name.text()) + " maps to " + in_quotes(key) +
                     ", which is reserved for dlock's metadata"};
  }
  if (is_only_a_tag(key)) {
    return Error{Errc::bad_usage,
                 "the lock name " + in_quotes(name.text()) +
                     " is only a hash tag and would share its metadata keys with " +
                     in_quotes(key.substr(1, key.size() - 2))};
  }
  if (route_->is_cluster()) {
    if (auto trouble = slot_trouble({Keys(key)})) return *trouble;
  }
  return key;
}

Result<std::vector<Keys>> RedisStore::keys_of(const std::vector<LockName>& names,
                                              bool one_of) const {
  std::vector<Keys> all;
  all.reserve(names.size());
  for (const LockName& name : names) {
    auto key = key_of(name);
    if (!key) return key.error();
    all.emplace_back(std::move(*key));
  }
  if (all.size() > 1 && route_->is_cluster()) {
    if (auto trouble = slot_trouble(all, one_of)) return *trouble;
  }
  return all;
}

Result<std::vector<Keys>> RedisStore::keys_of(const Holds& holds) const {
  return keys_of(names_of(holds));
}

Result<Answer> RedisStore::run(const Script& script,
                               const std::vector<Keys>& all,
                               const Words& keys,
                               const Words& args,
                               Time limit) {
  return explained(client_.run(script, keys, args, limit), all);
}

Result<Answer> RedisStore::run_for_replicas(const Script& script,
                                            const std::vector<Keys>& all,
                                            const Words& keys,
                                            const Words& args,
                                            Time limit) {
  if (!wanted_replicas_) {
    if (auto reached = client_.reach(keys.front(), limit); !reached) return reached.error();
  }
  replicas_ = wanted_replicas_.value_or(client_.likely_replicas());
  const bool one_of = &script == &lua::k_acquire_one;
  return explained(client_.run(script, keys, args, limit, replicas_), all, one_of);
}

// Waits until enough replicas have the grant or renewal in `answer`. If only this server had it and
// then failed, another holder could get the lock. The wait ends at the limit of a renewal (ttl/10).
Result<void> RedisStore::confirm(const Answer& answer, Duration ttl, Time limit) {
  const Time until = std::min(limit, answer.sent_at + ttl / 10);
  if (!wanted_replicas_) {
    const auto replicas = client_.replicas(until);
    if (!replicas) return replicas.error();
    replicas_ = *replicas;
  }
  std::optional<int> copies = answer.copies;
  while (copies.value_or(0) < replicas_ && (!copies || BootClock::now() + k_wait_takes <= until)) {
    const auto counted = client_.count_copies(replicas_, limit);
    if (!counted) return counted.error();
    copies = *counted;
  }
  if (copies.value_or(0) >= replicas_) return {};
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(until - answer.sent_at);
  return Error{Errc::unconfirmed,
               "only " + std::to_string(copies.value_or(0)) + " of " + std::to_string(replicas_) +
                   " replicas of " + where() + " confirmed it within " + format_duration(took) +
                   "; start the others, or lower --replicas (0: wait for none)"};
}

Result<AcquireReply> RedisStore::acquire(const Claim& claim, Queueing queueing, Time limit) {
  auto all = keys_of(claim.names, claim.one_from.has_value());
  if (!all) return all.error();
  const std::string ttl_ms = std::to_string(to_ms(claim.ttl));
  const std::string record = holder_json(claim.who, claim.ttl).substr(1);
  const std::string waiter = waiter_of(claim, queueing);
  const std::string asked = asked_by(claim);
  Words keys;
  Words args{claim.owner, claim.serial, ttl_ms, record, waiter, asked};
  std::vector<std::string> counts(all->size());
  for (const std::size_t i : order_of(claim)) {
    const Keys& one = (*all)[i];
    keys.insert(keys.end(),
                {one.lock, one.token, one.holds, one.revoked, one.line, one.waiters, one.done});
    const auto is_of_it = [&](const AncestorHold& above) { return above.key == one.lock; };
    counts[i] =
        std::to_string(std::count_if(claim.ancestors.begin(), claim.ancestors.end(), is_of_it));
    args.insert(args.end(), {one.tagged, counts[i]});
    for (auto above = claim.ancestors.rbegin(); above != claim.ancestors.rend(); ++above) {
      if (is_of_it(*above)) args.insert(args.end(), {above->owner, above->serial});
    }
  }
  args.insert(args.end(), claim.relies_on.begin(), claim.relies_on.end());
  const Script& script = claim.one_from ? lua::k_acquire_one : lua::k_acquire;
  auto answer = run_for_replicas(script, *all, keys, args, limit);
  if (!answer) return answer.error();
  auto reply = read_claimed(claim, *answer, where());
  auto* const grant = reply ? std::get_if<Grant>(&*reply) : nullptr;
  if (auto forgot = may_have_forgotten(claim, grant)) return *forgot;
  if (grant == nullptr) return reply;
  grant->at = client_.where();
  grant->process = client_.run_id();
  if (auto confirmed = confirm(*answer, claim.ttl, limit); !confirmed) return confirmed.error();
  if (claim.renewed) warn_of_failover(claim.ttl);
  return reply;
}

// Returns an error if the server started less than claim.least_uptime ago: it may have forgotten
// holds. Returns no error for a claim that joined an existing hold, which the server has
// remembered.
std::optional<Error> RedisStore::may_have_forgotten(const Claim& claim, const Grant* grant) const {
  const Duration up = client_.uptime();
  if (up >= claim.least_uptime) return std::nullopt;
  const auto is_nested = [](const Hold& hold) { return hold.nested; };
  if (grant != nullptr && std::all_of(grant->holds.begin(), grant->holds.end(), is_nested))
    return std::nullopt;
  return Error{
      Errc::unavailable,
      client_.where() + " started less than " + format_duration(claim.least_uptime) +
          " ago and may have forgotten locks; it votes again in " +
          format_duration(std::chrono::ceil<std::chrono::seconds>(claim.least_uptime - up))};
}

// Writes a log line, once and only with -v, if a hold of this ttl may be too short to outlive a
// failover of this set of servers.
void RedisStore::warn_of_failover(Duration ttl) {
  const auto down_after = route_->down_after();
  if (!down_after || !logs(LogLevel::info) || std::exchange(warned_, true)) return;
  const auto lease = LeaseTerms::check(ttl, std::nullopt);
  if (!lease || failover_that_fits(*lease) >= *down_after) return;
  log(LogLevel::info,
      {.name = "failover",
       .text = failover_text(*down_after) + "; " + too_short_text(ttl, *down_after)});
}

Result<RenewReply> RedisStore::renew(const Holds& holds, Time limit) {
  return ask_about(holds, holds.front().ttl, Duration::zero(), limit);
}

Result<void> RedisStore::raise(const Holds& holds, Time limit) {
  auto all = keys_of(holds);
  if (!all) return all.error();
  Words keys;
  Words args{holds.front().serial};
  std::vector<std::string> numbers(2 * holds.size());
  for (std::size_t i = 0; i < all->size(); ++i) {
    numbers[2 * i] = std::to_string(holds[i].token);
    numbers[2 * i + 1] = std::to_string(holds[i].since_ms);
    keys.insert(keys.end(), {(*all)[i].holds, (*all)[i].token});
    args.insert(args.end(), {holds[i].owner, numbers[2 * i], numbers[2 * i + 1]});
  }
  auto answer = run(lua::k_raise, *all, keys, args, limit);
  if (!answer) return answer.error();
  if (answer->reply.view()[0].string() == "raised") return {};
  return Error{Errc::lost, where() + " has no record of the hold"};
}

Result<RenewReply> RedisStore::check(const Holds& holds, Time limit) {
  const Hold& one = holds.front();
  return ask_about(holds, Duration::zero(), one.renewed ? one.ttl : Duration::zero(), limit);
}

Result<RenewReply> RedisStore::ask_about(const Holds& holds,
                                         Duration ttl,
                                         Duration whole,
                                         Time limit) {
  auto all = keys_of(holds);
  if (!all) return all.error();
  const std::string ttl_ms = std::to_string(to_ms(ttl));
  const std::string whole_ms = std::to_string(to_ms(whole));
  Words keys;
  Words args{holds.front().serial, ttl_ms, whole_ms};
  for (std::size_t i = 0; i < all->size(); ++i) {
    const Keys& one = (*all)[i];
    keys.insert(keys.end(), {one.lock, one.holds, one.revoked});
    args.insert(args.end(), {holds[i].owner, stored_mode(holds[i].mode), one.tagged});
  }
  const bool renews = ttl > Duration::zero();
  const std::string processes = renews ? processes_json(holds.front().who) : "";
  if (!processes.empty()) args.emplace_back(processes);
  auto answer = renews ? run_for_replicas(lua::k_renew, *all, keys, args, limit)
                       : run(lua::k_renew, *all, keys, args, limit);
  if (!answer) return answer.error();
  auto reply = read_renewed(*answer, holds.size(), where());
  if (reply) reply->at = client_.where();
  if (!reply || reply->verdict != RenewVerdict::renewed) return reply;
  if (auto confirmed = confirm(*answer, ttl, limit); !confirmed) return confirmed.error();
  return reply;
}

Result<ReleaseVerdict> RedisStore::release(const Holds& holds,
                                           const ReleaseOptions& options,
                                           Time limit) {
  auto all = keys_of(holds);
  if (!all) return all.error();
  const std::string keep = std::to_string(to_ms(options.keep));
  const std::string_view keep_none = "0";
  const std::string tell = std::to_string(to_ms(options.tell_for));
  Words keys;
  const std::string end = options.end ? end_json(*options.end) : "";
  const std::string remember = std::to_string(options.end ? to_ms(options.end->keep) : 0);
  Words args{holds.front().serial, tell, end, remember};
  for (std::size_t i = 0; i < all->size(); ++i) {
    const Keys& one = (*all)[i];
    keys.insert(keys.end(), {one.lock, one.holds, one.revoked, one.line, one.waiters, one.done});
    args.insert(args.end(), {holds[i].owner, one.tagged, holds[i].nested ? keep_none : keep});
  }
  auto answer = run(lua::k_release, *all, keys, args, limit);
  if (!answer) return answer.error();
  return read_released(*answer, holds.size(), where());
}

Result<void> RedisStore::leave(const Claim& claim, Queueing queueing, Time limit) {
  if (queueing == Queueing::no) return {};
  auto all = keys_of(claim.names);
  if (!all) return all.error();
  const std::string waiter = waiter_of(claim, queueing);
  Words keys;
  Words args{waiter};
  for (const Keys& one : *all) {
    keys.insert(keys.end(), {one.lock, one.line, one.waiters});
    args.emplace_back(one.tagged);
  }
  auto answer = run(lua::k_leave, *all, keys, args, limit);
  if (!answer) return answer.error();
  return {};
}

Result<Holding> RedisStore::inspect(const LockName& name, Time limit) {
  auto key = key_of(name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  auto answer = run(lua::k_inspect,
                    {keys},
                    {keys.lock, keys.holds, keys.revoked, keys.line, keys.waiters, keys.done},
                    {keys.tagged},
                    limit);
  if (!answer) return answer.error();
  return read_inspected(*answer, where());
}

Result<std::optional<LastSuccess>> RedisStore::forget(const LockName& name, Time limit) {
  auto key = key_of(name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  auto answer = run(lua::k_forget, {keys}, {keys.done}, {}, limit);
  if (!answer) return answer.error();
  return read_forgotten(*answer, where());
}

Result<Holding> RedisStore::freeze(const LockName& name, const FreezeOrder& order, Time limit) {
  auto key = key_of(name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  const std::string lasts = std::to_string(to_ms(order.lasts));
  const std::string record = holder_json(order.who, Duration::zero()).substr(1);
  auto answer = run(lua::k_freeze,
                    {keys},
                    {keys.lock, keys.holds, keys.revoked, keys.line},
                    {keys.tagged, order.owner, lasts, record},
                    limit);
  if (!answer) return answer.error();
  const ReplyView reply = answer->reply.view();
  if (reply[0].string() != "frozen") return unexpected_answer(where());
  return read_holding(reply[1], where());
}

Result<std::optional<Freeze>> RedisStore::unfreeze(const LockName& name, Time limit) {
  auto key = key_of(name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  auto answer = run(lua::k_unfreeze,
                    {keys},
                    {keys.lock, keys.holds, keys.line, keys.waiters},
                    {keys.tagged},
                    limit);
  if (!answer) return answer.error();
  return read_unfrozen(*answer, where());
}

Result<RevokeReply> RedisStore::revoke(const LockName& name, const RevokeOrder& order, Time limit) {
  auto key = key_of(name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  const std::string token = order.if_token ? std::to_string(*order.if_token) : "";
  auto answer =
      run(lua::k_revoke,
          {keys},
          {keys.lock, keys.holds, keys.revoked, keys.line, keys.waiters},
          {order.by, order.now ? "1" : "0", order.if_owner.value_or(""), token, keys.tagged},
          limit);
  if (!answer) return answer.error();
  const ReplyView reply = answer->reply.view();
  auto before = read_holding(reply[1], where());
  if (!before) return before.error();
  constexpr std::array<std::pair<std::string_view, RevokeVerdict>, 6> k_verdicts{{
      {"revoked", RevokeVerdict::revoked},
      {"deleted", RevokeVerdict::deleted},
      {"nothing", RevokeVerdict::nothing},
      {"not_dlock", RevokeVerdict::not_dlock},
      {"other_holder", RevokeVerdict::other_holder},
      {"frozen", RevokeVerdict::frozen},
  }};
  for (const auto& [word, verdict] : k_verdicts) {
    if (reply[0].string() == word) return RevokeReply{verdict, std::move(*before)};
  }
  return unexpected_answer(where());
}

}  // namespace dlock
