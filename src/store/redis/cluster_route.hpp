// SPDX-License-Identifier: MIT
// ClusterRoute: the owner of a key's slot in a cluster. Which server that is, is not looked up: the
// first node that answers is asked the question itself, and another owner is named by its answer
// (MOVED). That owner is remembered for later connections until it fails; then the other nodes of
// the URL are asked, and the owners met so far.
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
  std::string host;  // a name, or an address without brackets; empty: the one that answered
  std::uint16_t port = 0;
};

// Nothing, if the reply is another one.
std::optional<Moved> read_moved(std::string_view reply);

// The masters in the answer to CLUSTER SLOTS; all but host and port is as of `asked`, which gave
// it.
std::vector<RedisAddress> masters_in(ReplyView slots, const RedisAddress& asked);

// Has the server that answered CLUSTER NODES so a replica, whatever its state?
bool has_replica_here(std::string_view nodes);

class ClusterRoute final : public Route {
 public:
  // At least one.
  explicit ClusterRoute(std::vector<RedisAddress> seeds);

  Result<RedisAddress> address_of(std::string_view key, Time limit) override;
  std::size_t others() const override { return known_.size() - 1; }
  bool guesses() const override { return guesses_ && others() > 0; }
  // Also a replica, which may not write, sends us to another node.
  bool redirected(const RedisAddress& server, std::string_view reply) override;
  void failed(const RedisAddress& server, const Error& error, std::string_view reply) override;
  bool is_cluster() const override { return true; }

 private:
  void meet(const RedisAddress& server);
  void forget(const RedisAddress& server);

  std::vector<RedisAddress> known_;  // the seeds, then owners met
  std::size_t next_ = 0;             // of known_: who is asked for a slot without a known owner
  bool guesses_ = false;             // the newest address is not that of an owner
  std::map<std::uint16_t, RedisAddress> owners_;
};

}  // namespace dlock
