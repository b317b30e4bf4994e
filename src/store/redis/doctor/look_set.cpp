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

constexpr Duration k_sentinels_take = 2s;  // limit for all sentinels together
constexpr Duration k_member_takes = 1s;    // limit of one question to a server
constexpr std::size_t k_most_replicas = 16;

Time member_limit(Time until) {
  return std::min(until, BootClock::now() + k_member_takes);
}

bool has_time(Time until) {
  return member_limit(until) < until;
}

int alive_of(ReplyView sentinels) {
  int alive = 0;
  for (std::size_t i = 0; i < sentinels.size(); ++i) {
    const Fields fields = fields_in(sentinels[i]);
    const auto flags = fields.find("flags");
    if (flags != fields.end() && flags->second == "sentinel") ++alive;
  }
  return alive;
}

SentinelFacts look_at_sentinel(const RedisAddress& address, const std::string& name, Time limit) {
  const auto& tls = address.endpoint.tls;
  SentinelFacts facts{
      .url = address.text, .tls = tls != nullptr, .insecure = tls != nullptr && tls->insecure};
  RedisClient client(address, nullptr);
  const auto named = client.call({"SENTINEL", "get-master-addr-by-name", name}, limit);
  if (!named) {
    facts.unreachable = named.error();
    return facts;
  }
  if (facts.tls) facts.certificate = look_at_certificate(address.endpoint, limit);
  if (named->reply.size() != 2) return facts;
  facts.master =
      std::string(named->reply[0].string()) + ":" + std::string(named->reply[1].string());
  if (const auto master = client.call({"SENTINEL", "master", name}, limit); master) {
    facts.fields = fields_in(master->reply.view());
  }
  const auto others = client.call({"SENTINEL", "sentinels", name}, limit);
  facts.others_alive = others ? Seen<int>(alive_of(others->reply.view()))
                              : Seen<int>::unseen("SENTINEL SENTINELS", others.error());
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

RedisAddress address_of(const Replica& replica, const RedisAddress& like) {
  RedisAddress address = server_at(like, replica.host, replica.port);
  address.must_be_master = false;
  address.endpoint.socket_path.clear();
  return address;
}

ServerFacts look_at(const RedisAddress& replica, Time until) {
  RedisClient asked(replica, nullptr);
  Way way = way_of(asked);
  way.is_replica = true;
  return look_at_replica(asked, std::move(way), member_limit(until));
}

bool is_near(const Endpoint& endpoint) {
  return !endpoint.socket_path.empty() || endpoint.host == "localhost" || endpoint.host == "::1" ||
         endpoint.host.starts_with("127.");
}

}  // namespace

std::vector<SentinelFacts> look_at_sentinels(const SentinelSet& set, Time until) {
  std::vector<SentinelFacts> all;
  const Duration each = k_sentinels_take / static_cast<int>(set.sentinels.size());
  for (const RedisAddress& sentinel : set.sentinels) {
    const Time limit = std::min(until, BootClock::now() + each);
    all.push_back(look_at_sentinel(sentinel, set.name, limit));
  }
  return all;
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

Result<Answer> first_answer(RedisClient& client,
                            const Words& question,
                            bool is_cluster,
                            Time limit) {
  if (!is_cluster) return client.call(question, limit);
  for (;;) {
    // After a call that reached its limit, the next call asks another node.
    auto answer = client.call(question, member_limit(limit));
    const bool hangs = !answer && answer.error().code == Errc::timed_out;
    if (!hangs || BootClock::now() >= limit) return answer;
  }
}

ClusterFacts look_at_cluster(RedisClient& client, const LookTerms& terms) {
  const auto soon = [&] { return member_limit(terms.until); };
  ClusterFacts cluster;
  cluster.slot = slot_of(terms.keys.lock);
  const auto info = client.call({"CLUSTER", "INFO"}, soon());
  cluster.info = info ? Seen<Fields>(parse_info(info->reply.string()))
                      : Seen<Fields>::unseen("CLUSTER INFO", info.error());
  const auto timeout = client.call({"CONFIG", "GET", "cluster-node-timeout"}, soon());
  cluster.timeout = timeout ? Seen<Fields>(fields_in(timeout->reply.view()))
                            : Seen<Fields>::unseen("CONFIG GET", timeout.error());
  // Any question with the key leads the client to the owner of the key's slot. If the question
  // fails, the owner stays unknown: a node tests the user's rights first, so a node that refuses
  // the user need not be the owner.
  if (client.run(k_probe, {terms.keys.lock}, {}, soon())) cluster.owner = client.where();
  return cluster;
}

void add_masters(SetFacts& set, RedisClient& client, const LookTerms& terms) {
  const auto slots = first_answer(client, {"CLUSTER", "SLOTS"}, true, terms.until);
  if (!slots) {
    set.cluster->masters = Seen<int>::unseen("CLUSTER SLOTS", slots.error());
    return;
  }
  const std::vector<RedisAddress> masters = masters_in(slots->reply.view(), client.address());
  set.cluster->masters = static_cast<int>(masters.size());
  for (const RedisAddress& master : masters) {
    if (!set.servers.empty() && master.text == set.servers.front().way.url) continue;
    if (!has_time(terms.until)) {
      set.unasked.push_back(master.text);
      continue;
    }
    RedisClient asked(master, nullptr);
    Way way = way_of(asked);
    way.is_other = true;
    const auto hello = asked.call({"TIME"}, member_limit(terms.until));
    if (!hello && !asked.connected()) {
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
      const RedisAddress address = address_of(replica, client.address());
      if (has_time(until)) {
        set.servers.push_back(look_at(address, until));
      } else {
        set.unasked.push_back(address.text);
      }
    }
  }
}

}  // namespace dlock::doctor
