// SPDX-License-Identifier: MIT
// Route: says which server has a key. RedisClient asks the route before it connects, and reports
// each server that failed; so only a route knows whether there are several servers. Used by one
// thread.
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

  // Returns the server to connect to for a question about `key`; if that is empty, any server. If
  // the route has to ask other servers for it, it does so within the limit.
  virtual Result<RedisAddress> address_of(std::string_view key, Time limit) = 0;

  // Returns how many replicas must have a grant or a renewal by default; valid after address_of().
  virtual int replicas() const { return 0; }

  // Returns how many other servers may be tried if the server of the newest address_of() cannot be
  // reached.
  virtual std::size_t others() const { return 0; }

  // Returns whether the server of the newest address_of() may be frozen or gone while another
  // server has the key: then its first answer must not take the whole time limit.
  virtual bool guesses() const { return false; }

  // Returns whether this error reply ("MOVED 3999 10.0.0.1:6381") sends us to another server; then
  // address_of() returns that server from now on.
  virtual bool redirected(const RedisAddress& /*server*/, std::string_view /*reply*/) {
    return false;
  }

  // Returns whether the servers are a cluster, in which each key belongs to one of several masters.
  virtual bool is_cluster() const { return false; }

  // Returns how long a master must be missing before it is replaced; nullopt: unknown, or it never
  // is.
  virtual std::optional<Duration> down_after() const { return {}; }

  // Subscribes, within the limit, to messages about role changes, if that helps. The messages only
  // save time, so a failure is no error.
  virtual void watch(Time /*limit*/) {}
  // Returns the client with that subscription, so that a wait can include it; null: there is no
  // subscription.
  virtual RedisClient* subscriber() { return nullptr; }
  // Returns whether a message has said that another server may have the keys now.
  virtual bool has_switched() { return false; }

  // Notes that the server could not be reached, was lost, or refused a question. `reply`: its error
  // reply, such as "READONLY …", valid during the call; empty: it sent no error reply.
  virtual void failed(const RedisAddress& server, const Error& error, std::string_view reply) = 0;
};

// A route with the same server for all keys.
class FixedRoute final : public Route {
 public:
  explicit FixedRoute(RedisAddress address) : address_(std::move(address)) {}
  Result<RedisAddress> address_of(std::string_view, Time) override { return address_; }
  void failed(const RedisAddress&, const Error&, std::string_view) override {}

 private:
  RedisAddress address_;
};

}  // namespace dlock
