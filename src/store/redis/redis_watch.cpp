// SPDX-License-Identifier: MIT
// The ears of a RedisStore: turns in the line, releases by Redisson, and changes of keys that
// nobody tells of (key tracking).
#include "store/redis/redis_keys.hpp"
#include "store/redis/redis_store.hpp"

namespace dlock {

// Whoever is subscribed to nothing for a moment would be taken for dead: the new ears listen before
// the old ones go.
Result<void> RedisStore::listen(const Words& channels, Time limit) {
  RedisClient fresh = ears_.another();
  const auto subscribed = fresh.subscribe(channels, false, limit);
  if (!subscribed) return subscribed.error();
  ears_ = std::move(fresh);
  sees_changes_ = false;
  return {};
}

Result<void> RedisStore::listen_and_see(Words channels, Time limit) {
  channels.push_back(RedisClient::k_changes);
  RedisClient fresh = ears_.another();
  const auto number = fresh.subscribe(channels, true, limit);
  if (!number) return number.error();
  if (auto tracked = client_.track(*number, limit); !tracked) return tracked;
  ears_ = std::move(fresh);
  sees_changes_ = true;
  return {};
}

Result<Watching> RedisStore::watch(const Claim& claim, bool front, Time limit) {
  auto key = key_of(claim.name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  watched_ = {.turn = keys.turn + hold_id(claim.owner, claim.serial),
              .lock = keys.lock,
              .revoked = keys.revoked,
              .channel = keys.channel};
  Words channels{watched_.turn};
  Watching watching;
  if (front) {
    channels.emplace_back(watched_.channel);
    const auto seeing = listen_and_see(channels, limit);
    if (seeing) return watching;
    const Error& error = seeing.error();
    if (error.code != Errc::denied && error.code != Errc::refused) return error;
    watching.blind_because = error.text;
  }
  auto heard = listen(channels, limit);
  const bool denied = !heard && heard.error().code == Errc::denied;
  // The turns are worth more than the releases of others.
  if (denied && front) heard = listen({watched_.turn}, limit);
  if (!heard) return heard.error();
  return watching;
}

Result<Watching> RedisStore::watch_hold(const Hold& hold, Time limit) {
  auto key = key_of(hold.name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  const bool there = sees_changes_ && ears_.subscribed() && watched_.lock == keys.lock;
  watched_ = {
      .turn = {}, .lock = keys.lock, .revoked = keys.revoked, .channel = {}, .holder = true};
  if (there) return Watching{};
  if (const auto seeing = listen_and_see({}, limit); !seeing) return seeing.error();
  return Watching{};
}

// What a message means; timed_out: nothing to us.
HandOff RedisStore::meaning_of(const Reply& message) const {
  const std::string_view channel = message[1].string();
  if (channel == RedisClient::k_changes) {
    const ReplyView changed = message[2];
    if (changed.is_nil()) return HandOff::changed;  // FLUSHALL: all of them
    for (std::size_t i = 0; i < changed.size(); ++i) {
      const std::string_view key = changed[i].string();
      if (key == watched_.lock) return HandOff::changed;
      if (watched_.holder && key == watched_.revoked) return HandOff::changed;
    }
    return HandOff::timed_out;
  }
  if (watched_.holder) return HandOff::timed_out;
  if (channel == watched_.turn) {
    return message[2].string() == "turn" ? HandOff::turn : HandOff::next;
  }
  return channel == watched_.channel ? HandOff::changed : HandOff::timed_out;
}

Result<HandOff> RedisStore::await_hand_off(Time until) {
  for (;;) {
    // What it has read is tracked for as long as that connection lasts.
    if (sees_changes_ && !client_.idle()) {
      sees_changes_ = false;
      return Error{Errc::unavailable, "lost the connection to " + where()};
    }
    auto messages = ears_.await_messages(until, sees_changes_ ? &client_ : nullptr);
    if (!messages) return messages.error();
    HandOff best = HandOff::timed_out;  // of all that has come
    for (const Reply& message : *messages)
      best = std::min(best, meaning_of(message));
    if (best != HandOff::timed_out) return best;
    if (BootClock::now() >= until) return HandOff::timed_out;
  }
}

}  // namespace dlock
