// SPDX-License-Identifier: MIT
// The ears of a RedisStore: turns in the line, releases by Redisson, and changes of keys that nobody
// tells of (key tracking).
#include "store/redis/redis_keys.hpp"
#include "store/redis/redis_store.hpp"

namespace dlock {

// With news of changed keys if they are to be had, else without.
Result<Watching> RedisStore::listen_for_changes(const Words& channels, Time limit) {
  Words all = channels;
  all.push_back(RedisClient::k_changes);
  sees_changes_ = false;
  const auto number = ears_.subscribe(all, true, limit);
  const auto tracked = number ? client_.track(*number, limit) : Result<void>(number.error());
  if (tracked) {
    sees_changes_ = true;
    return Watching{};
  }
  const Error& error = tracked.error();
  if (error.code != Errc::denied && error.code != Errc::refused) {
    ears_.disconnect();
    return error;
  }
  if (channels.empty()) return error;
  if (const auto plain = ears_.subscribe(channels, false, limit); !plain) return plain.error();
  return Watching{.blind_because = error.text};
}

Result<Watching> RedisStore::watch(const Claim& claim, bool front, Time limit) {
  auto key = key_of(claim.name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  watched_ = {.turn = keys.turn + hold_id(claim.owner, claim.serial),
              .lock = keys.lock,
              .revoked = keys.revoked,
              .channel = keys.channel};
  if (front) return listen_for_changes({watched_.turn, watched_.channel}, limit);
  sees_changes_ = false;
  if (const auto plain = ears_.subscribe({watched_.turn}, false, limit); !plain) {
    return plain.error();
  }
  return Watching{};
}

Result<Watching> RedisStore::watch_hold(const Hold& hold, Time limit) {
  auto key = key_of(hold.name);
  if (!key) return key.error();
  const Keys keys(std::move(*key));
  const bool there = sees_changes_ && ears_.subscribed() && watched_.lock == keys.lock;
  watched_ = {.turn = {}, .lock = keys.lock, .revoked = keys.revoked, .channel = {}, .holder = true};
  if (there) return Watching{};
  return listen_for_changes({}, limit);
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
    auto messages = ears_.await_messages(until);
    if (!messages) return messages.error();
    if (messages->empty()) return HandOff::timed_out;
    HandOff best = HandOff::timed_out;  // of all that has come
    for (const Reply& message : *messages) best = std::min(best, meaning_of(message));
    if (best != HandOff::timed_out) return best;
    if (BootClock::now() >= until) return HandOff::timed_out;
  }
}

}  // namespace dlock
