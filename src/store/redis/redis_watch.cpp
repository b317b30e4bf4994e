// SPDX-License-Identifier: MIT
// The subscriber of a RedisStore: it hears of turns in the line, releases by Redisson, and changed
// keys (key tracking).
#include "store/redis/redis_keys.hpp"
#include "store/redis/redis_store.hpp"

#include <algorithm>

namespace dlock {

namespace {

// Returns the error for two clients at different servers: only the server that has a lock sends
// messages about it.
Error apart() {
  return {Errc::unavailable, "the lock has moved to another server"};
}

}  // namespace

// Subscribes with a new connection before the old one is closed, because a waiter without a
// subscription counts as dead.
Result<void> RedisStore::listen(const Words& channels, Time limit) {
  RedisClient fresh = subscriber_.another();
  const auto subscribed = fresh.subscribe(watched_.keys.front().lock, channels, false, limit);
  if (!subscribed) return subscribed.error();
  subscriber_ = std::move(fresh);
  sees_changes_ = false;
  route_->watch(limit);
  return {};
}

Result<void> RedisStore::listen_and_see(const Words& channels, Time limit) {
  RedisClient fresh = subscriber_.another();
  const std::string& key = watched_.keys.front().lock;
  const auto number = fresh.subscribe(key, channels, true, limit);
  if (!number) return number.error();
  if (auto tracked = client_.track(key, *number, limit); !tracked) return tracked;
  if (fresh.where() != client_.where()) return apart();
  subscriber_ = std::move(fresh);
  sees_changes_ = true;
  route_->watch(limit);
  return {};
}

Result<Watching> RedisStore::watch(const Claim& claim, bool front, Time limit) {
  auto all = keys_of(claim.names);
  if (!all) return all.error();
  watched_ = {.claim = waiter_id(claim), .keys = std::move(*all)};
  std::vector<std::string> turns;
  Words channels;
  for (const Keys& one : watched_.keys)
    turns.push_back(one.turn + watched_.claim);
  channels.assign(turns.begin(), turns.end());
  Watching watching;
  if (front) {
    const bool pair = claim.mode == Mode::shared || claim.mode == Mode::exclusive;
    for (const Keys& one : watched_.keys)
      channels.emplace_back(pair ? one.pair_channel : one.channel);
    const auto seeing = listen_and_see(channels, limit);
    if (seeing) return watching;
    const Error& error = seeing.error();
    if (error.code != Errc::denied && error.code != Errc::refused) return error;
    watching.untracked_because = error.text;
  }
  auto heard = listen(channels, limit);
  const bool denied = !heard && heard.error().code == Errc::denied;
  // Without the right to hear of releases by other programs, subscribes to turns alone, which
  // matter more.
  if (denied && front) heard = listen(Words(turns.begin(), turns.end()), limit);
  if (!heard) return heard.error();
  return watching;
}

Result<Watching> RedisStore::watch_hold(const Holds& holds, Time limit) {
  auto all = keys_of(holds);
  if (!all) return all.error();
  const bool there =
      sees_changes_ && subscriber_.subscribed() && watched_.keys.size() == all->size() &&
      std::equal(all->begin(), all->end(), watched_.keys.begin(), [](const Keys& a, const Keys& b) {
        return a.lock == b.lock;
      });
  watched_ = {.claim = {}, .keys = std::move(*all)};
  if (there) return Watching{};
  if (const auto seeing = listen_and_see({}, limit); !seeing) return seeing.error();
  return Watching{};
}

bool RedisStore::matters(std::string_view key) const {
  return std::any_of(watched_.keys.begin(), watched_.keys.end(), [&](const Keys& one) {
    return key == one.lock || (watched_.holder() && key == one.revoked);
  });
}

// Returns what a message means for us; HandOff::timed_out if it means nothing, so that the caller
// goes on waiting.
HandOff RedisStore::meaning_of(const Reply& message) const {
  const std::string_view channel = message[1].string();
  if (channel == RedisClient::k_changes) {
    const ReplyView changed = message[2];
    if (changed.is_nil()) return HandOff::changed;  // FLUSHALL changed all keys
    for (std::size_t i = 0; i < changed.size(); ++i) {
      if (matters(changed[i].string())) return HandOff::changed;
    }
    return HandOff::timed_out;
  }
  if (watched_.holder()) return HandOff::timed_out;
  for (const Keys& one : watched_.keys) {
    if (channel == one.turn + watched_.claim) {
      const std::string_view word = message[2].string();
      if (word == "turn") return HandOff::turn;
      // "wait" only tests who is subscribed.
      return word == "next" ? HandOff::next : HandOff::timed_out;
    }
    if (channel == one.channel || channel == one.pair_channel) return HandOff::changed;
  }
  return HandOff::timed_out;
}

Result<HandOff> RedisStore::await_hand_off(Time until) {
  for (;;) {
    // The keys that client_ has read are tracked only as long as its connection lasts.
    if (sees_changes_ && !client_.idle()) {
      sees_changes_ = false;
      return Error{Errc::unavailable, "lost the connection to " + where()};
    }
    if (client_.connected() && client_.where() != subscriber_.where()) {
      subscriber_.disconnect();
      return apart();
    }
    auto messages = subscriber_.await_messages(
        until, {sees_changes_ ? &client_ : nullptr, route_->subscriber()});
    if (!messages) return messages.error();
    if (route_->has_switched()) {
      client_.disconnect();
      subscriber_.disconnect();
      return HandOff::changed;
    }
    HandOff best = HandOff::timed_out;  // the most important meaning of the messages so far
    for (const Reply& message : *messages)
      best = std::min(best, meaning_of(message));
    if (best != HandOff::timed_out) return best;
    if (BootClock::now() >= until) return HandOff::timed_out;
  }
}

}  // namespace dlock
