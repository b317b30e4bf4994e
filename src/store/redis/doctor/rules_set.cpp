// SPDX-License-Identifier: MIT
// Rules about a set of servers: its sentinels, its cluster, and a failover.
#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/redis/doctor/rules.hpp"
#include "store/redis/failover_time.hpp"

#include <algorithm>
#include <set>

namespace dlock::doctor {

namespace {

using namespace std::chrono_literals;

std::string sentinels_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " sentinel" : " sentinels");
}

long long number_at(const SentinelFacts& sentinel, std::string_view name) {
  const auto number = number_of(sentinel.fields, name);
  return number ? *number : 0;
}

// Returns how many sentinels there are, by the answer of the sentinel that knows most of them.
Seen<std::size_t> known_sentinels(const SetFacts& set) {
  Seen<std::size_t> known;
  for (const SentinelFacts& one : set.sentinels) {
    if (one.unreachable) continue;
    if (one.others_alive) {
      const auto all = static_cast<std::size_t>(*one.others_alive) + 1;
      known = known ? std::max(*known, all) : all;
    } else if (!known) {
      known = Seen<std::size_t>::unseen(one.others_alive.why());
    }
  }
  return known;
}

// Returns how long a server must be silent until it counts as down.
Seen<Duration> time_to_down(const SetFacts& set) {
  if (set.cluster) {
    const auto timeout = number_of(set.cluster->timeout, "cluster-node-timeout");
    if (!timeout) return Seen<Duration>::unseen(timeout.why());
    return down_after_in_cluster(bounded(std::chrono::milliseconds(*timeout)));
  }
  long long most = 0;
  for (const SentinelFacts& sentinel : set.sentinels)
    most = std::max(most, number_at(sentinel, "down-after-milliseconds"));
  if (most > 0) return bounded(std::chrono::milliseconds(most));
  return Seen<Duration>::unseen("no sentinel told its down-after-milliseconds");
}

}  // namespace

Finding judge_failover(const SetFacts& set, const Terms& terms) {
  const LeaseTerms& lease = terms.lease;
  const auto down = time_to_down(set);
  if (!down) return not_seen(down.why());
  const Duration down_after = *down;
  const std::string seen = failover_text(down_after);
  if (failover_that_fits(lease) >= down_after) {
    const bool spare = set.servers.empty() || replicas_too_few(set.servers.front(), terms) == 0;
    if (spare) return info(seen, "a hold of " + format_duration(lease.ttl()) + " outlives it");
    return info(seen,
                "too few replicas are left then to confirm a renewal: a hold ends (79) unless the "
                "old master is back in time; with one more replica it goes on");
  }
  const std::string instead =
      set.cluster ? "cluster-node-timeout" : "down-after-milliseconds at the sentinels";
  return warning(
      seen,
      too_short_text(lease.ttl(), down_after),
      "--ttl " + std::to_string(ttl_that_outlives(down_after) / 1s) + "s, or a smaller " + instead);
}

Finding judge_sentinels(const SetFacts& set) {
  const std::size_t count = set.sentinels.size();
  if (count == 0) return good();
  std::set<std::string> masters;
  std::string silent;
  std::size_t alive = 0;
  for (const SentinelFacts& one : set.sentinels) {
    if (one.unreachable) {
      silent += (silent.empty() ? "" : "; ") + one.unreachable->text;
      continue;
    }
    ++alive;
    if (!one.master.empty()) masters.insert(one.master);
  }
  const std::string agree = "after a failover clients may follow the wrong ones";
  if (alive == 0) {
    return broken("no sentinel answers", "there is no way to the master", "start the sentinels");
  }
  if (masters.size() > 1) {
    return warning("they name different masters: " +
                       listed(std::vector<std::string>(masters.begin(), masters.end())),
                   agree,
                   "wait for the failover to end; a sentinel that stays behind does not reach the "
                   "others");
  }
  if (!silent.empty()) {
    return warning(silent,
                   "one failure more may leave no majority",
                   "start what is missing, or take it out of the URL");
  }
  const auto known = known_sentinels(set);
  for (const SentinelFacts& one : set.sentinels) {
    if (one.check && !one.check->empty()) {
      return warning("SENTINEL CKQUORUM at " + one.url + ": " + printable(*one.check),
                     "no failover is possible now",
                     "start the missing sentinels, or lower the quorum");
    }
    if (known && number_at(one, "quorum") > static_cast<long long>(*known)) {
      return warning("the quorum is " + std::to_string(number_at(one, "quorum")) + " of " +
                         sentinels_text(*known),
                     "no failover is possible now",
                     "start the missing sentinels, or lower the quorum");
    }
    const bool is_address = one.master.find_first_not_of("0123456789.:") == std::string::npos;
    if (one.tls && is_address) {
      return warning("they name the master by its address, " + one.master,
                     "its certificate has to be for that address",
                     "sentinel resolve-hostnames yes and announce-hostnames yes; or --sni NAME");
    }
  }
  if (!known) return not_seen(known.why());
  if (*known < 3 || *known % 2 == 0) {
    return warning("there are " + sentinels_text(*known),
                   *known < 3 ? "a majority needs at least three to survive the loss of one"
                              : "an even number survives no more failures than one less",
                   "run three or five, on machines of their own");
  }
  return good(sentinels_text(*known) + ", of one mind");
}

Finding judge_cluster(const SetFacts& set) {
  const ClusterFacts& cluster = *set.cluster;
  const auto enabled = set.servers.empty() ? Seen<long long>()
                                           : number_of(set.servers.front().info, "cluster_enabled");
  if (enabled && *enabled == 0) {
    return broken("the server is no node of a cluster (cluster_enabled is 0)",
                  "it is asked for its slots and nodes, and refuses",
                  "write redis://HOST");
  }
  const auto state = field_of(cluster.info, "cluster_state");
  const auto covered = number_of(cluster.info, "cluster_slots_ok");
  if (!state || !covered) return not_seen(state ? covered.why() : state.why());
  const std::string remedy = "see redis-cli --cluster check HOST:PORT";
  if (*state != "ok") {
    return broken("cluster_state is " + printable(*state), "no lock is granted or renewed", remedy);
  }
  if (*covered < 16384) {
    return broken(std::to_string(16384 - *covered) + " of 16384 slots have no master",
                  "their locks are neither granted nor renewed",
                  remedy);
  }
  if (cluster.owner.empty()) return good("all slots have a master");
  return info("slot " + std::to_string(cluster.slot) + " is at " + cluster.owner);
}

Finding judge_masters(const SetFacts& set) {
  const Seen<int>& masters = set.cluster->masters;
  return masters ? good("masters: " + std::to_string(*masters)) : not_seen(masters.why());
}

}  // namespace dlock::doctor
