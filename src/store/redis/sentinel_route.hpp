// SPDX-License-Identifier: MIT
// SentinelRoute: the master of a set, as its sentinels name it. All sentinels are asked before each
// connection, at once, and the address that most of them name is taken; of equals the one with the
// larger configuration epoch. So no address is ever kept, and a broken connection leads back to the
// old master only if the sentinels still name it. RedisClient also asks the server itself for its
// role (RedisAddress::must_be_master).
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
  int replicas = 0;  // the replicas that it knows, connected or not
  Duration down_after{};
};

// Chooses among the answers of all sentinels; nothing: no sentinel knows the name.
std::optional<MasterWord> choose_master(const std::vector<MasterWord>& words);

// Whether the set has a replica, by the answers of its `sentinels`. A sentinel may have forgotten
// the replicas (SENTINEL RESET), so the words of a minority prove nothing.
bool may_have_replica(const std::vector<MasterWord>& words, std::size_t sentinels);

class SentinelRoute final : public Route {
 public:
  explicit SentinelRoute(SentinelSet set) : set_(std::move(set)) {}

  // If no sentinel answers: Errc::denied if one wants a password, else the code that all their
  // errors share, else unavailable. Errc::bad_config: they do not know the name, or a file cannot
  // be used.
  Result<RedisAddress> address_of(std::string_view key, Time limit) override;
  void failed(const RedisAddress&, const Error&, std::string_view) override {}
  // 1 if the set has a replica: replicas are there for a failover.
  int replicas() const override { return replicas_; }

  std::optional<Duration> down_after() const override { return down_after_; }

  // Subscribes to +switch-master at the sentinel whose word counted last.
  void watch(Time limit) override;
  RedisClient* subscriber() override { return subscriber_ ? &*subscriber_ : nullptr; }
  bool has_switched() override;

 private:
  SentinelSet set_;
  bool has_answered_ = false;  // a sentinel did, at least once
  int replicas_ = 0;
  std::optional<Duration> down_after_;
  std::size_t spokesman_ = 0;  // a sentinel that named the chosen master
  std::optional<RedisClient> subscriber_;
};

}  // namespace dlock
