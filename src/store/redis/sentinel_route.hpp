// SPDX-License-Identifier: MIT
// SentinelRoute: finds the master of a set of servers by asking the set's sentinels. Before each
// connection it asks all sentinels at once, and takes the address that most of them name; if two
// addresses are named equally often, it takes the one with the larger configuration epoch, the
// sentinels' count of failovers. It remembers no address, so after a broken connection the old
// master is used again only if the sentinels still name it. RedisClient also asks the server itself
// whether it is a master (RedisAddress::must_be_master).
// https://redis.io/docs/latest/develop/reference/sentinel-clients/
#pragma once

#include "store/redis/redis_client.hpp"
#include "store/redis/route.hpp"
#include "store/redis/sentinel_url.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlock {

// The answer of one sentinel: where the master of our set is.
struct MasterWord {
  std::string host;  // empty: the sentinel does not know the name of our set
  std::uint16_t port = 0;
  long long epoch = 0;
  int replicas = 0;  // how many replicas the master has, connected or not
  Duration down_after{};
};

// Chooses the master from the answers of the sentinels; nullopt: no sentinel knows the name.
std::optional<MasterWord> choose_master(const std::vector<MasterWord>& words);

// Returns whether the set may have a replica. `words` are the answers that came, `sentinels` is the
// number of all sentinels. Returns true unless more than half of the sentinels know the set and no
// sentinel knows a replica: a sentinel may have forgotten the replicas (SENTINEL RESET), so a few
// answers without a replica prove nothing.
bool may_have_replica(const std::vector<MasterWord>& words, std::size_t sentinels);

class SentinelRoute final : public Route {
 public:
  explicit SentinelRoute(SentinelSet set) : set_(std::move(set)) {}

  // Asks all sentinels for the master. If no sentinel answers, the error is Errc::denied if a
  // sentinel wants a password, otherwise the code that all their errors share, otherwise
  // Errc::unavailable. Errc::bad_config: no sentinel knows the name of the set, or a file cannot be
  // read.
  Result<RedisAddress> address_of(std::string_view key, Time limit) override;
  void failed(const RedisAddress&, const Error&, std::string_view) override {}
  // Returns 1 if the set may have a replica, which could become the master in a failover.
  int replicas() const override { return replicas_; }

  std::optional<Duration> down_after() const override { return down_after_; }

  // Subscribes to the messages +switch-master at a sentinel that named the present master.
  void watch(Time limit) override;
  RedisClient* subscriber() override { return subscriber_ ? &*subscriber_ : nullptr; }
  bool has_switched() override;

 private:
  SentinelSet set_;
  bool has_answered_ = false;  // a sentinel has answered at least once
  int replicas_ = 0;
  std::optional<Duration> down_after_;
  // Index of a sentinel that named the chosen master; watch() subscribes there.
  std::size_t spokesman_ = 0;
  std::optional<RedisClient> subscriber_;
};

}  // namespace dlock
