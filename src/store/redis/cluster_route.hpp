// SPDX-License-Identifier: MIT
// ClusterRoute: finds the node of a cluster that owns the hash slot of a key. The route does not
// ask for the owner first: it sends the question itself to some node that it knows, and if another
// node owns the slot, the reply (MOVED) names that node. The route remembers the owner of each slot
// for later connections until the owner fails. After that it uses the nodes of the URL and the
// owners that replies have named, one after the other.
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

// The error reply "MOVED 3999 10.0.0.1:6381", which says that the slot has another owner.
struct Moved {
  std::uint16_t slot = 0;
  // A name, or an address without brackets; empty: the host of the server that answered.
  std::string host;
  std::uint16_t port = 0;
};

// Reads an error reply of this form; nullopt: the reply is not MOVED.
std::optional<Moved> read_moved(std::string_view reply);

// Returns the masters in an answer to CLUSTER SLOTS by the server `asked`. All settings but host
// and port are those of `asked`.
std::vector<RedisAddress> masters_in(ReplyView slots, const RedisAddress& asked);

// Returns whether the server has a replica, connected or not. `nodes` is the server's answer to
// CLUSTER NODES.
bool has_replica_here(std::string_view nodes);

class ClusterRoute final : public Route {
 public:
  // `seeds` are the nodes in the URL, at least one.
  explicit ClusterRoute(std::vector<RedisAddress> seeds);

  Result<RedisAddress> address_of(std::string_view key, Time limit) override;
  std::size_t others() const override { return known_.size() - 1; }
  bool guesses() const override { return guesses_ && others() > 0; }
  // As in Route. A reply of READONLY counts, too, if there is another node to ask: it means that
  // this server has become a replica, which may not write.
  bool redirected(const RedisAddress& server, std::string_view reply) override;
  void failed(const RedisAddress& server, const Error& error, std::string_view reply) override;
  bool is_cluster() const override { return true; }

 private:
  void meet(const RedisAddress& server);
  void forget(const RedisAddress& server);

  std::vector<RedisAddress> known_;  // the nodes in the URL, then the owners that MOVED has named
  std::size_t next_ = 0;  // index in known_ of the node to ask if the owner of a slot is unknown
  bool guesses_ = false;  // the server of the newest address_of() may not be the owner of the slot
  std::map<std::uint16_t, RedisAddress> owners_;
};

}  // namespace dlock
