// SPDX-License-Identifier: MIT
// Rules about roles and replicas: what happens to a lock if its server fails.
#include "base/text.hpp"
#include "store/redis/doctor/rules.hpp"

#include <algorithm>
#include <charconv>

namespace dlock::doctor {

namespace {

// The longest lag, in seconds, that a healthy replica shows. A replica reports once a second, and
// the server subtracts times in whole seconds.
constexpr long long k_most_lag_s = 2;

struct ReplicaState {
  std::string where;
  bool online = false;
  long long lag_s = 0;
};

// Reads those fields of INFO replication that each describe one replica:
// "slave0:ip=127.0.0.1,port=6380,state=online,offset=14,lag=0".
std::vector<ReplicaState> replica_states(const Fields& info) {
  std::vector<ReplicaState> all;
  for (const auto& [name, value] : info) {
    if (!name.starts_with("slave") || value.find("ip=") != 0) continue;
    Fields parts;
    for (const std::string_view part : split(value, ',')) {
      const auto equals = std::min(part.find('='), part.size());
      parts[std::string(part.substr(0, equals))] = part.substr(std::min(equals + 1, part.size()));
    }
    ReplicaState state{parts["ip"] + ":" + parts["port"], parts["state"] == "online"};
    const std::string& lag = parts["lag"];
    std::from_chars(lag.data(), lag.data() + lag.size(), state.lag_s);
    all.push_back(std::move(state));
  }
  return all;
}

std::string count_of(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

bool is_master(const ServerFacts& server) {
  return server.role ? server.role->word == "master"
                     : field_of(server.info, "role") && *field_of(server.info, "role") == "master";
}

std::size_t replica_count(const ServerFacts& server) {
  return server.info ? replica_states(*server.info).size() : 0;
}

}  // namespace

Finding judge_role(const ServerFacts& server, const Terms& /*terms*/) {
  const auto word = field_of(server.info, "role");
  if (word && *word == "active-replica") {
    return broken("this KeyDB accepts writes on several masters at once",
                  "so it cannot exclude any other client",
                  "set active-replica no, or use another server");
  }
  // Only the answer to ROLE says where the replicas are. Without it they could not be looked at.
  const bool unseen = !word || replica_count(server) > 0;
  if (!server.role && unseen) return not_seen(server.role.why());
  const std::string role = server.role ? server.role->word : *word;
  if (role == "sentinel") {
    return broken("it is a sentinel", "it keeps no data", "write redis+sentinel://HOST/NAME");
  }
  if (role != "slave") return info("master, with " + count_of(replica_count(server), "replica"));
  if (server.way.is_replica) return good("replica");
  return broken("it is a replica" + (server.role ? " of " + server.role->master : std::string()),
                "it takes no writes, and its answers may be old",
                "let the URL name its master, or its sentinels (redis+sentinel://HOST/NAME)");
}

Finding judge_topology(const ServerFacts& server, const Terms& terms) {
  if (terms.of_a_set) return good("found by its set");
  const auto cluster = number_of(server.info, "cluster_enabled");
  if (cluster && *cluster == 1) {
    return warning("it is a node of a Redis Cluster",
                   "names whose slot is at another node are refused (MOVED)",
                   "write redis+cluster://HOST,HOST,HOST");
  }
  if (!server.info) return not_seen(server.info.why());
  if (!is_master(server)) return good();
  if (server.sentinels && *server.sentinels > 0) {
    return warning("sentinels watch it, and the URL names it directly",
                   "after a failover the URL leads to the wrong server",
                   "write redis+sentinel://HOST,HOST,HOST/NAME");
  }
  if (replica_count(server) == 0) return good("one server");
  return warning("it has " + count_of(replica_count(server), "replica"),
                 "after a failover this URL leads to the wrong server",
                 "with sentinels write redis+sentinel://HOST,HOST,HOST/NAME");
}

Finding judge_replicas(const ServerFacts& server, const Terms& terms) {
  if (!server.info) return not_seen(server.info.why());
  if (!is_master(server)) return good();
  const auto states = replica_states(*server.info);
  const auto online = static_cast<int>(
      std::count_if(states.begin(), states.end(), [](const auto& one) { return one.online; }));
  if (terms.of_one_shard && states.empty()) {
    if (!server.has_replica) return not_seen(server.has_replica.why());
    if (!*server.has_replica) return good();  // judge_shard() reports a missing replica
    return broken("its replica is not connected, and --replicas is 1",
                  "no lock of its slots is granted or renewed",
                  "start the replica, or CLUSTER FORGET it; or say --replicas 0");
  }
  if (online < terms.replicas) {
    return broken(std::to_string(online) + " of " + count_of(states.size(), "replica") +
                      " online, --replicas is " + std::to_string(terms.replicas),
                  "no lock is granted or renewed",
                  "start the missing replicas, or say --replicas " + std::to_string(online));
  }
  for (const ReplicaState& state : states) {
    if (!state.online) {
      return warning("replica " + printable(state.where) + " is not online",
                     "a failover to it would forget locks",
                     "see its log");
    }
    if (state.lag_s > k_most_lag_s) {
      return warning(
          "replica " + printable(state.where) + " is " + std::to_string(state.lag_s) + " s behind",
          "a failover to it would forget the locks of that time",
          "see its load and its network; --replicas N waits for it");
    }
  }
  return good(count_of(states.size(), "replica") + ", none behind");
}

int replicas_too_few(const ServerFacts& server, const Terms& terms) {
  if (!server.info || !is_master(server)) return 0;
  const auto count = static_cast<int>(replica_count(server));
  const auto least = number_of(server.config, "min-replicas-to-write");
  const int needed =
      std::max(terms.of_one_shard ? 1 : terms.replicas, least ? static_cast<int>(*least) : 0);
  return count == 0 ? 0 : std::max(needed - (count - 1), 0);
}

Finding judge_minrepl(const ServerFacts& server, const Terms& terms) {
  if (!server.info) return not_seen(server.info.why());
  if (!is_master(server) || replica_count(server) == 0) return good("no replica");
  // INFO has this field only if both min-replicas-to-write and min-replicas-max-lag are set.
  if (field_of(server.info, "min_slaves_good_slaves")) return good("min-replicas-to-write is set");
  if (terms.replicas >= static_cast<int>(replica_count(server))) {
    return good("--replicas " + std::to_string(terms.replicas) + " waits for all of them");
  }
  // A master of a cluster stops granting by itself if it cannot reach most of the other masters.
  const auto cluster = number_of(server.info, "cluster_enabled");
  return warning("min-replicas-to-write is 0",
                 cluster && *cluster == 1
                     ? "an old master that is cut off goes on granting for cluster-node-timeout"
                     : "an old master goes on granting after a failover: 10 s after a freeze, for "
                       "ever when it is cut off",
                 "CONFIG SET min-replicas-to-write 1 and min-replicas-max-lag 3; or --replicas " +
                     std::to_string(replica_count(server)));
}

Finding judge_open_slots(const ServerFacts& server, const Terms& /*terms*/) {
  if (!server.open_slots) return not_seen(server.open_slots.why());
  if (server.open_slots->empty()) return good("none of its slots is being moved");
  return warning("slots are being moved: " + printable(listed(*server.open_slots)),
                 "their locks cannot be granted or renewed meanwhile",
                 "let the move end: redis-cli --cluster fix HOST:PORT");
}

Finding judge_shard(const ServerFacts& server, const Terms& /*terms*/) {
  if (!server.info) return not_seen(server.info.why());
  if (replica_count(server) > 0) return good("it has a replica");
  if (server.has_replica && *server.has_replica) return good("it has one that is not connected");
  return warning("a master of the cluster without a replica",
                 "if it fails, the locks of its slots are gone, and no new one is granted",
                 "add a replica: redis-cli --cluster add-node … --cluster-slave");
}

}  // namespace dlock::doctor
