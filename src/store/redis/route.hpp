// SPDX-License-Identifier: MIT
// Route: which server serves a key. RedisClient asks the route before it connects, and tells it
// about each server that failed; so only a route knows whether there are several servers. Used by
// one thread.
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

  // The server to connect to for a question about `key`; empty: any server will do. A route that
  // has to ask others for it does so within the limit.
  virtual Result<RedisAddress> address_of(std::string_view key, Time limit) = 0;

  // How many replicas must have a grant or a renewal by default; valid after address_of().
  virtual int replicas() const { return 0; }

  // How many other servers may be asked if the newest address_of() cannot be reached.
  virtual std::size_t others() const { return 0; }

  // The newest address_of() may have named a server that is frozen or gone, and another one may
  // serve the key as well: its first answer must not take the whole limit.
  virtual bool guesses() const { return false; }

  // Whether this error reply ("MOVED 3999 10.0.0.1:6381") sends us to another server; address_of()
  // names that server from now on.
  virtual bool redirected(const RedisAddress& /*server*/, std::string_view /*reply*/) {
    return false;
  }

  // Whether it is a cluster: each key has one of several masters.
  virtual bool is_cluster() const { return false; }

  // How long a master is missing before another replaces it; nullopt: unknown, or never.
  virtual std::optional<Duration> down_after() const { return {}; }

  // Subscribes within the limit, if necessary, to messages about changes of roles. Changes save
  // time and decide nothing: a failure is not an error.
  virtual void watch(Time /*limit*/) {}
  // That subscription, to be waited for; null: there is no subscription.
  virtual RedisClient* subscriber() { return nullptr; }
  // Whether a message has said that another server may serve the keys now.
  virtual bool has_switched() { return false; }

  // Reports that the server could not be reached, was lost, or refused a question. `reply`: its
  // error reply, such as "READONLY …", valid during the call; empty: no reply.
  virtual void failed(const RedisAddress& server, const Error& error, std::string_view reply) = 0;
};

// One server for all keys, whatever happens.
class FixedRoute final : public Route {
 public:
  explicit FixedRoute(RedisAddress address) : address_(std::move(address)) {}
  Result<RedisAddress> address_of(std::string_view, Time) override { return address_; }
  void failed(const RedisAddress&, const Error&, std::string_view) override {}

 private:
  RedisAddress address_;
};

}  // namespace dlock
