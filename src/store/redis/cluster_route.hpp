// SPDX-License-Identifier: MIT
// ClusterRoute: finds the owner of a key's slot in a cluster. The owner is not looked up first: the
// question itself goes to the first node that answers, and if another node owns the slot, the reply
// (MOVED) names it. That owner is remembered for later connections until it fails; then the other
// nodes of the URL and the owners met so far are asked.
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
#pragma once

#include "store/redis/reply_reader.hpp"
#include "store/redis/route.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace dlock {

// "MOVED 3999 10.0.0.1:6381": the slot has another owner.
struct Moved {
  std::uint16_t slot = 0;
  std::string host;  // a name, or an address without brackets; empty: the answering server's
  std::uint16_t port = 0;
};

// Returns nullopt if the reply is not MOVED.
std::optional<Moved> read_moved(std::string_view reply);

// Returns the masters in an answer to CLUSTER SLOTS by the server `asked`. All settings but host
// and port are those of `asked`.
std::vector<RedisAddress> masters_in(ReplyView slots, const RedisAddress& asked);

// Returns whether the server that gave this answer to CLUSTER NODES has a replica, connected or
// not.
bool has_replica_here(std::string_view nodes);

class ClusterRoute final : public Route {
 public:
  // `seeds`: at least one.
  explicit ClusterRoute(std::vector<RedisAddress> seeds);

  Result<RedisAddress> address_of(std::string_view key, Time limit) override;
  std::size_t others() const override { return known_.size() - 1; }
  bool guesses() const override { return guesses_ && others() > 0; }
  // Returns true also for READONLY if there is another node to ask: the server is a replica, which
  // may not write.
  bool redirected(const RedisAddress& server, std::string_view reply) override;
  void failed(const RedisAddress& server, const Error& error, std::string_view reply) override;
  bool is_cluster() const override { return true; }

 private:
  void meet(const RedisAddress& server);
  void forget(const RedisAddress& server);

  std::vector<RedisAddress> known_;  // the seeds, then the owners met
  std::size_t next_ = 0;  // index in known_ of the node to ask if a slot's owner is unknown
  bool guesses_ = false;  // the newest address may not be that of the slot's owner
  std::map<std::uint16_t, RedisAddress> owners_;
};

}  // namespace dlock
