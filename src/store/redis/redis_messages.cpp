// SPDX-License-Identifier: MIT
// RedisClient as a subscriber: it subscribes to channels, receives messages, and turns on key
// tracking.
#include "store/redis/command_bytes.hpp"
#include "store/redis/redis_client.hpp"

#include <array>
#include <optional>

namespace dlock {

namespace {

constexpr std::size_t k_message_bytes = std::size_t{16} << 10;
// How often one wait reads from the connection, at most. Without this bound a flood of messages
// would keep a waiter from its work.
constexpr int k_most_drains = 64;

constexpr std::string_view k_unsharded = "SUBSCRIBE";
constexpr std::string_view k_sharded = "SSUBSCRIBE";

bool is_message(const Reply& reply) {
  return reply.size() >= 3 && (reply[0].string() == "message" || reply[0].string() == "smessage");
}

// Returns whether the reply says that the server has ended the subscription. A server of a cluster
// does so when the slot of the channels has moved to another server.
bool is_end(const Reply& reply) {
  return reply.size() >= 1 && reply[0].string() == "sunsubscribe";
}

}  // namespace

Result<long long> RedisClient::subscribe(std::string_view key,
                                         const Words& channels,
                                         bool tracks,
                                         Time limit) {
  DLOCK_ASSERT(!subscribed_);
  for (int moves = 0; moves <= k_most_moves; ++moves) {
    const auto number = subscribe_here(key, channels, tracks, limit);
    if (!number) return number.error();
    subscribed_ = number->has_value();
    if (subscribed_) return **number;
  }
  return Error{Errc::unavailable, where() + " says that the lock has moved again and again"};
}

// Subscribes at the connected server; nullopt: the slot of the channels has moved to another
// server. On a single server one command subscribes to all channels. In a cluster the channels of
// the locks need another command than k_changes; their command comes last, because messages may
// follow its confirmation at once.
Result<std::optional<long long>> RedisClient::subscribe_here(std::string_view key,
                                                             const Words& channels,
                                                             bool tracks,
                                                             Time limit) {
  if (auto reached = reach(key, limit); !reached) return reached.error();
  long long number = 0;
  if (tracks) {
    const auto id = call({"CLIENT", "ID"}, limit);
    if (!id) return id.error();
    number = id->reply.integer();
  }
  const bool sharded = route_->is_cluster();
  Words plain = sharded ? Words() : channels;
  if (tracks) plain.push_back(k_changes);
  for (const bool shard : {false, true}) {
    const Words& wanted = shard ? channels : plain;
    if ((shard && !sharded) || wanted.empty()) continue;
    const auto heard = subscribe_to(shard ? k_sharded : k_unsharded, wanted, limit);
    if (!heard) return heard.error();
    if (!*heard) return std::optional<long long>();
  }
  return std::optional(number);
}

// Subscribes to the channels with the command `verb`, SUBSCRIBE or SSUBSCRIBE, and waits until the
// server has confirmed each channel. Returns false if the slot of the channels has moved to another
// server; then the route knows that server.
Result<bool> RedisClient::subscribe_to(std::string_view verb, const Words& channels, Time limit) {
  Words words{verb};
  words.insert(words.end(), channels.begin(), channels.end());
  const Time started = BootClock::now();
  auto answer = ask_here(words, channels.front(), limit, 0);
  if (!answer) return answer.error();
  Reply reply = std::move(answer->reply);
  if (reply.is_error()) {
    // Redis 6.2 does not know SSUBSCRIBE. There SUBSCRIBE is the right command, because each
    // message goes to all nodes of the cluster.
    if (verb == k_sharded && reply.string().starts_with("ERR unknown command")) {
      return subscribe_to(k_unsharded, channels, limit);
    }
    const bool moved = route_->redirected(address_, reply.string());
    const Error error = moved ? Error() : refusal(reply.string());
    disconnect();
    return moved ? Result<bool>(false) : error;
  }
  for (std::size_t confirmed = 1;; ++confirmed) {
    if (!reply[0].string().ends_with("subscribe")) {
      disconnect();
      return Error{Errc::protocol, where() + " sent a reply that does not match the request"};
    }
    if (confirmed == channels.size()) return true;
    auto next = read_reply(started, limit);
    if (!next) return next.error();
    reply = std::move(*next);
  }
}

Result<std::vector<Reply>> RedisClient::await_messages(Time until, const Others& beside) {
  Transport::Others others{};
  for (std::size_t i = 0; i < beside.size(); ++i)
    if (beside[i] != nullptr && beside[i]->transport_) others[i] = &*beside[i]->transport_;
  const Time started = BootClock::now();
  if (!subscribed_) return Error{Errc::unavailable, "there is no subscription at " + where()};
  std::vector<Reply> messages;
  if (auto taken = take_messages(messages, started, until); !taken) return taken.error();
  for (int drains = 0; drains < k_most_drains; ++drains) {
    std::array<char, k_message_bytes> buffer;
    // After the first message, takes only messages that have already arrived.
    const Time most = messages.empty() ? until : started;
    const auto n = transport_->receive(buffer.data(), buffer.size(), most, others);
    // If the connection ended after a message, the next call of await_messages() returns the error.
    if (!n && (!messages.empty() || n.error().code == Errc::timed_out)) break;
    if (!n && n.error().code == Errc::cancelled) return n.error();
    if (!n) return unanswered(n.error(), started, until);
    if (const auto fed = reader_.feed({buffer.data(), *n}); !fed) {
      return unanswered(fed.error(), started, until);
    }
    if (auto taken = take_messages(messages, started, until); !taken) return taken.error();
    if (messages.empty() && BootClock::now() >= until) break;
  }
  return messages;
}

// Moves all complete messages from the reader to `messages`.
Result<void> RedisClient::take_messages(std::vector<Reply>& messages, Time started, Time limit) {
  for (;;) {
    auto reply = reader_.next();
    if (!reply) return unanswered(reply.error(), started, limit);
    if (!reply->has_value()) return {};
    if ((*reply)->is_error()) {
      const Error error = refusal((*reply)->string());
      disconnect();
      return error;
    }
    if (is_end(**reply)) {
      disconnect();
      return Error{Errc::unavailable, "the lock has moved to another server than " + where()};
    }
    if (is_message(**reply)) messages.push_back(std::move(**reply));
  }
}

Result<void> RedisClient::track(std::string_view key, long long listener, Time limit) {
  listener_ = 0;
  const std::string number = std::to_string(listener);
  auto answer = checked(ask(tracking_words(number), key, limit));
  if (!answer && answer.error().text.find("redirect to does not exist") != std::string::npos) {
    // The subscriber's connection, which should get the messages, has just been closed.
    return Error{Errc::unavailable, answer.error().text};
  }
  if (!answer) return answer.error();
  listener_ = listener;
  return {};
}

}  // namespace dlock
