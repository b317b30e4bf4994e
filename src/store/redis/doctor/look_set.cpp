// SPDX-License-Identifier: MIT
#include "store/redis/doctor/look_set.hpp"

#include "store/redis/cluster_route.hpp"
#include "store/redis/sentinel_url.hpp"
#include "store/redis/slot.hpp"

#include <algorithm>
#include <memory>

namespace dlock::doctor {

namespace {

using namespace std::chrono_literals;

constexpr Duration k_sentinels_take = 2s;  // all of them
constexpr Duration k_replica_takes = 1s;
constexpr std::size_t k_most_replicas = 16;

Fields fields_of(ReplyView reply) {
  Fields all;
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2)
    all[std::string(reply[i].string())] = reply[i + 1].string();
  return all;
}

int alive_of(ReplyView sentinels) {
  int alive = 0;
  for (std::size_t i = 0; i < sentinels.size(); ++i) {
    const Fields fields = fields_of(sentinels[i]);
    const auto flags = fields.find("flags");
    if (flags != fields.end() && flags->second == "sentinel") ++alive;
  }
  return alive;
}

SentinelFacts look_at_sentinel(const RedisAddress& address, const std::string& name, Time limit) {
  SentinelFacts facts{.url = address.text, .tls = address.endpoint.tls != nullptr};
  RedisClient client(address, nullptr);
  const auto named = client.call({"SENTINEL", "get-master-addr-by-name", name}, limit);
  if (!named) {
    facts.unreachable = named.error();
    return facts;
  }
  if (named->reply.size() != 2) return facts;
  facts.master =
      std::string(named->reply[0].string()) + ":" + std::string(named->reply[1].string());
  if (const auto master = client.call({"SENTINEL", "master", name}, limit); master) {
    facts.fields = fields_of(master->reply.view());
  }
  if (const auto others = client.call({"SENTINEL", "sentinels", name}, limit); others) {
    facts.others_alive = alive_of(others->reply.view());
  }
  const auto check = client.call({"SENTINEL", "ckquorum", name}, limit);
  if (check) {
    facts.check = std::string();
  } else if (check.error().code == Errc::denied) {
    facts.check = Seen<std::string>::unseen("SENTINEL CKQUORUM", check.error());
  } else {
    facts.check = check.error().text;
  }
  return facts;
}

ServerFacts look_at(const Replica& replica, RedisAddress address, Time until) {
  address.must_be_master = false;
  address.endpoint.socket_path.clear();
  address.endpoint.host = replica.host;
  address.endpoint.port = replica.port;
  const bool v6 = replica.host.find(':') != std::string::npos;
  address.text = std::string(address.endpoint.tls ? "rediss://" : "redis://") +
                 (v6 ? "[" + replica.host + "]" : replica.host) + ":" +
                 std::to_string(replica.port) + "/" + std::to_string(address.db);
  RedisClient asked(address, nullptr);
  Way way = way_of(asked);
  way.is_replica = true;
  return look_at_replica(
      asked, std::move(way), std::min(until, BootClock::now() + k_replica_takes));
}

bool is_near(const Endpoint& endpoint) {
  return !endpoint.socket_path.empty() || endpoint.host == "localhost" || endpoint.host == "::1" ||
         endpoint.host.starts_with("127.");
}

}  // namespace

std::vector<SentinelFacts> look_at_sentinels(const StoreOptions& options, Time until) {
  std::vector<SentinelFacts> all;
  if (!is_sentinel_url(options.url)) return all;
  auto set = parse_sentinel_url(options.url);
  if (!set) return all;
  const Duration each = k_sentinels_take / static_cast<int>(set->sentinels.size());
  for (RedisAddress& sentinel : set->sentinels) {
    sentinel.password = options.sentinel_password;
    if (sentinel.endpoint.tls != nullptr)
      sentinel.endpoint.tls = std::make_shared<const TlsSettings>(options.tls);
    const Time limit = std::min(until, BootClock::now() + each);
    all.push_back(look_at_sentinel(sentinel, set->name, limit));
  }
  return all;
}

bool any_answers(const std::vector<SentinelFacts>& sentinels) {
  return std::any_of(
      sentinels.begin(), sentinels.end(), [](const auto& one) { return !one.unreachable; });
}

Way way_of(const RedisClient& client) {
  const RedisAddress& address = client.address();
  const auto& tls = address.endpoint.tls;
  return {.url = address.text,
          .is_near = is_near(address.endpoint),
          .tls = tls != nullptr,
          .insecure = tls != nullptr && tls->insecure,
          .has_password = !address.password.empty(),
          .user = address.user.empty() ? "default" : address.user};
}

ClusterFacts look_at_cluster(RedisClient& client, const LookTerms& terms) {
  ClusterFacts cluster;
  // The question leads to the owner; its answer does not matter.
  [[maybe_unused]] const auto led = client.run(k_probe, {terms.keys.lock}, {}, terms.until);
  const auto info = client.call({"CLUSTER", "INFO"}, terms.until);
  cluster.info = info ? Seen<Fields>(parse_info(info->reply.string()))
                      : Seen<Fields>::unseen("CLUSTER INFO", info.error());
  const auto timeout = client.call({"CONFIG", "GET", "cluster-node-timeout"}, terms.until);
  cluster.timeout = timeout ? Seen<Fields>(fields_of(timeout->reply.view()))
                            : Seen<Fields>::unseen("CONFIG GET", timeout.error());
  cluster.slot = slot_of(terms.keys.lock);
  cluster.owner = client.where();
  return cluster;
}

void add_masters(SetFacts& set, RedisClient& client, const LookTerms& terms) {
  const auto slots = client.call({"CLUSTER", "SLOTS"}, terms.until);
  if (!slots) return;
  for (const RedisAddress& master : masters_in(slots->reply.view(), client.address())) {
    if (master.text == set.servers.front().way.url) continue;
    RedisClient asked(master, nullptr);
    Way way = way_of(asked);
    way.is_other = true;
    const Time limit = std::min(terms.until, BootClock::now() + k_replica_takes);
    if (const auto hello = asked.call({"TIME"}, limit); !hello && !asked.connected()) {
      set.servers.push_back({.way = std::move(way), .unreachable = hello.error()});
    } else {
      set.servers.push_back(look_at_server(asked, std::move(way), terms));
    }
  }
}

void add_replicas(SetFacts& set, const RedisClient& client, Time until) {
  const std::size_t masters = set.servers.size();
  for (std::size_t i = 0; i < masters; ++i) {
    const Seen<Role> role = set.servers[i].role;
    if (!role) continue;
    for (const Replica& replica : role->replicas) {
      if (set.servers.size() > masters + k_most_replicas) return;
      set.servers.push_back(look_at(replica, client.address(), until));
    }
  }
}

}  // namespace dlock::doctor
