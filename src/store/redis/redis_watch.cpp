// SPDX-License-Identifier: MIT
// The subscriber of a RedisStore. It receives messages that say that a waiter's turn has come, that
// Redisson has released a lock, or that a key has changed (key tracking).
#include "store/redis/redis_keys.hpp"
#include "store/redis/redis_store.hpp"

#include <algorithm>

namespace dlock {

namespace {

// Returns the error if the store's client and its subscriber are connected to different servers.
// The subscriber would then hear nothing, because only the server that has a lock sends messages
// about it.
Error apart() {
  return {Errc::unavailable, "the lock has moved to another server"};
}

}  // namespace

// Subscribes with a new connection, and only then closes the old one: a waiter that is not
// subscribed counts as dead.
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
  // If this user may not subscribe to the channels of releases by other programs, subscribes only
  // to the channels of turns, which matter more.
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

// Returns what a message means for the watching claim or holds. Returns HandOff::timed_out for a
// message without meaning, so that the caller waits on.
HandOff RedisStore::meaning_of(const Reply& message) const {
  const std::string_view channel = message[1].string();
  if (channel == RedisClient::k_changes) {
    const ReplyView changed = message[2];
    // No key is named: FLUSHALL has changed all keys.
    if (changed.is_nil()) return HandOff::changed;
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
      // The word "wait" is sent only to count the subscribers.
      return word == "next" ? HandOff::next : HandOff::timed_out;
    }
    if (channel == one.channel || channel == one.pair_channel) return HandOff::changed;
  }
  return HandOff::timed_out;
}

Result<HandOff> RedisStore::await_hand_off(Time until) {
  for (;;) {
    // The server tracks the keys that client_ has read only while client_ is connected.
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
    HandOff best = HandOff::timed_out;  // the most urgent meaning of the messages so far
    for (const Reply& message : *messages)
      best = std::min(best, meaning_of(message));
    if (best != HandOff::timed_out) return best;
    if (BootClock::now() >= until) return HandOff::timed_out;
  }
}

}  // namespace dlock
