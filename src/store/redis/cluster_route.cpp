// SPDX-License-Identifier: MIT
#include "store/redis/cluster_route.hpp"

#include "base/assert.hpp"
#include "base/text.hpp"
#include "store/redis/slot.hpp"
#include "store/url/host_port.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace dlock {

namespace {

constexpr std::size_t k_most_known = 64;
constexpr std::string_view k_rename_node =
    "let the nodes name it so (cluster-announce-hostname, "
    "cluster-preferred-endpoint-type hostname)";

std::optional<std::uint16_t> short_number(std::string_view text) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// Returns whether this error reply means that the node cannot serve the key now, or does not know
// who can. Another node may know.
bool says_not_here(std::string_view reply) {
  return reply.starts_with("CLUSTERDOWN") || reply.starts_with("MASTERDOWN") ||
         reply.starts_with("LOADING") || reply.starts_with("READONLY");
}

}  // namespace

std::optional<Moved> read_moved(std::string_view reply) {
  constexpr std::string_view k_word = "MOVED ";
  if (!reply.starts_with(k_word)) return {};
  reply.remove_prefix(k_word.size());
  const auto gap = reply.find(' ');
  if (gap == std::string_view::npos) return {};
  const std::string_view where = reply.substr(gap + 1);
  // The last colon, because an IPv6 address contains colons, too.
  const auto colon = where.rfind(':');
  if (colon == std::string_view::npos) return {};
  const auto slot = short_number(reply.substr(0, gap));
  const auto port = short_number(where.substr(colon + 1));
  if (!slot || !port || *port == 0) return {};
  const std::string_view host = where.substr(0, colon);
  if (host.empty() || host == "?")  // the node does not know its own address
    return Moved{.slot = *slot, .host = {}, .port = *port};
  auto announced = parse_announced_host(host);
  if (!announced) return {};
  return Moved{.slot = *slot, .host = std::move(*announced), .port = *port};
}

// CLUSTER SLOTS answers with a list of ranges of slots. A range is a list: first slot, last slot,
// master, then its replicas. A server in it is a list: host (or nil for the answering server),
// port, id.
std::vector<RedisAddress> masters_in(ReplyView slots, const RedisAddress& asked) {
  std::vector<RedisAddress> masters;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const ReplyView master = slots[i][2];
    const std::string_view said = master[0].string();
    const bool itself = said.empty() || said == "?";
    const auto host = itself ? asked.endpoint.host : parse_announced_host(said);
    const auto port = static_cast<std::uint16_t>(master[1].integer());
    if (!host || port != master[1].integer()) continue;
    RedisAddress server = server_at(asked, *host, port);
    const auto same = [&](const RedisAddress& one) { return one.text == server.text; };
    if (std::none_of(masters.begin(), masters.end(), same)) masters.push_back(std::move(server));
  }
  return masters;
}

// CLUSTER NODES answers with one text line for each node. The line has words: id, address, flags,
// the id of the node's master or "-", and more that is not used here.
bool has_replica_here(std::string_view nodes) {
  struct Node {
    std::string_view id, flags, master;
  };
  std::vector<Node> all;
  for (const std::string_view line : split(nodes, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() > 3) all.push_back(Node{words[0], words[2], words[3]});
  }
  const auto is_here = [](const Node& one) { return one.flags.starts_with("myself"); };
  const auto here = std::find_if(all.begin(), all.end(), is_here);
  return here != all.end() && std::any_of(all.begin(), all.end(), [&](const Node& one) {
           return one.master == here->id;
         });
}

ClusterRoute::ClusterRoute(std::vector<RedisAddress> seeds) : known_(std::move(seeds)) {
  DLOCK_ASSERT(!known_.empty());
}

Result<RedisAddress> ClusterRoute::address_of(std::string_view key, Time /*limit*/) {
  const auto owner = key.empty() ? owners_.end() : owners_.find(slot_of(key));
  guesses_ = owner == owners_.end();
  return guesses_ ? known_[next_] : owner->second;
}

bool ClusterRoute::redirected(const RedisAddress& server, std::string_view reply) {
  if (reply.starts_with("READONLY")) {
    forget(server);
    return others() > 0;
  }
  const auto moved = read_moved(reply);
  if (!moved) return false;
  const std::string_view host = moved->host.empty() ? server.endpoint.host : moved->host;
  RedisAddress owner = server_at(server, host, moved->port);
  if (!moved->host.empty()) owner.endpoint.rename = k_rename_node;
  owners_[moved->slot] = owner;
  meet(owner);
  return true;
}

void ClusterRoute::failed(const RedisAddress& server,
                          const Error& /*error*/,
                          std::string_view reply) {
  if (reply.empty() || says_not_here(reply)) forget(server);
}

void ClusterRoute::meet(const RedisAddress& server) {
  const auto known = std::any_of(known_.begin(), known_.end(), [&](const RedisAddress& one) {
    return one.text == server.text;
  });
  if (!known && known_.size() < k_most_known) known_.push_back(server);
}

void ClusterRoute::forget(const RedisAddress& server) {
  std::erase_if(owners_, [&](const auto& one) { return one.second.text == server.text; });
  if (known_[next_].text == server.text) next_ = (next_ + 1) % known_.size();
}

}  // namespace dlock
