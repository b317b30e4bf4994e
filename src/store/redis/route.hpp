// SPDX-License-Identifier: MIT
// Route: says which server has a key. RedisClient asks its route before it connects, and reports to
// it each server that failed. So only the route knows whether there are several servers. One thread
// uses a route.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/redis/redis_url.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace dlock {

class RedisClient;

class Route {
 public:
  Route() = default;
  Route(const Route&) = delete;
  Route& operator=(const Route&) = delete;
  virtual ~Route() = default;

  // Returns the server to connect to for a question about `key`; if `key` is empty, any server. If
  // the route must ask other servers to find it, that takes no longer than until `limit`.
  virtual Result<RedisAddress> address_of(std::string_view key, Time limit) = 0;

  // Returns how many replicas must have a grant or a renewal by default. Call address_of() before.
  virtual int replicas() const { return 0; }

  // Returns how many other servers can be tried if the server that address_of() named last cannot
  // be reached.
  virtual std::size_t others() const { return 0; }

  // Returns whether the server that address_of() named last is only a guess: it may be frozen or
  // gone while another server has the key. Then the client must not spend its whole time limit on
  // the server's first answer.
  virtual bool guesses() const { return false; }

  // Returns whether this error reply, such as "MOVED 3999 10.0.0.1:6381", sends the client to
  // another server. If so, address_of() returns that server from now on.
  virtual bool redirected(const RedisAddress& /*server*/, std::string_view /*reply*/) {
    return false;
  }

  // Returns whether the servers are a cluster, in which each key belongs to one of several masters.
  virtual bool is_cluster() const { return false; }

  // Returns how long a master must be silent before another server replaces it. nullopt: the time
  // is unknown, or a master is never replaced.
  virtual std::optional<Duration> down_after() const { return {}; }

  // Subscribes, within the limit, to messages about a change of master, if the route has any. The
  // messages only save time, so a failure is no error.
  virtual void watch(Time /*limit*/) {}
  // Returns the client that is subscribed to these messages, so that a wait can include it; null:
  // no client is.
  virtual RedisClient* subscriber() { return nullptr; }
  // Returns whether a message has come that says that another server may have the keys now.
  virtual bool has_switched() { return false; }

  // Tells the route that the server could not be reached, was lost, or refused a question. `reply`
  // is the server's error reply, such as "READONLY …", and is valid during the call; it is empty if
  // there was no error reply.
  virtual void failed(const RedisAddress& server, const Error& error, std::string_view reply) = 0;
};

// A route that has the same server for every key.
class FixedRoute final : public Route {
 public:
  explicit FixedRoute(RedisAddress address) : address_(std::move(address)) {}
  Result<RedisAddress> address_of(std::string_view, Time) override { return address_; }
  void failed(const RedisAddress&, const Error&, std::string_view) override {}

 private:
  RedisAddress address_;
};

}  // namespace dlock
