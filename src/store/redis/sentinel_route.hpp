// SPDX-License-Identifier: MIT
// SentinelRoute: the master of a set, as its sentinels name it. Before each connection all
// sentinels are asked at once, and the address that most of them name is taken; if several are
// named equally often, the one with the largest configuration epoch. So no address is remembered,
// and after a broken connection the old master is used again only if the sentinels still name it.
// RedisClient also asks the server itself for its role (RedisAddress::must_be_master).
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

// One sentinel's answer about a name.
struct MasterWord {
  std::string host;  // empty: it does not know the name
  std::uint16_t port = 0;
  long long epoch = 0;
  int replicas = 0;  // number of replicas that it knows, connected or not
  Duration down_after{};
};

// Chooses the master from the answers of all sentinels; nullopt: no sentinel knows the name.
std::optional<MasterWord> choose_master(const std::vector<MasterWord>& words);

// Returns whether the set may have a replica, by the answers of its `sentinels` sentinels. A
// sentinel may have forgotten replicas (SENTINEL RESET), so the answers of a minority prove
// nothing.
bool may_have_replica(const std::vector<MasterWord>& words, std::size_t sentinels);

class SentinelRoute final : public Route {
 public:
  explicit SentinelRoute(SentinelSet set) : set_(std::move(set)) {}

  // Asks all sentinels for the master. If no sentinel answers: Errc::denied if one wants a
  // password, otherwise the code that all their errors share, otherwise unavailable.
  // Errc::bad_config: no sentinel knows the name, or a file cannot be used.
  Result<RedisAddress> address_of(std::string_view key, Time limit) override;
  void failed(const RedisAddress&, const Error&, std::string_view) override {}
  // Returns 1 if the set has a replica, which could take over in a failover.
  int replicas() const override { return replicas_; }

  std::optional<Duration> down_after() const override { return down_after_; }

  // Subscribes to +switch-master at the sentinel whose answer was taken last.
  void watch(Time limit) override;
  RedisClient* subscriber() override { return subscriber_ ? &*subscriber_ : nullptr; }
  bool has_switched() override;

 private:
  SentinelSet set_;
  bool has_answered_ = false;  // any sentinel has answered at least once
  int replicas_ = 0;
  std::optional<Duration> down_after_;
  std::size_t spokesman_ = 0;  // index of a sentinel that named the chosen master
  std::optional<RedisClient> subscriber_;
};

}  // namespace dlock
