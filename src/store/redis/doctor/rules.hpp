// SPDX-License-Identifier: MIT
// The rules of `dlock doctor` for Redis: one small pure function for each check. They know nothing
// about connections. dlock(1), "The checks of doctor", lists the ids.
#pragma once

#include "core/lease.hpp"
#include "store/doctor/finding.hpp"
#include "store/redis/doctor/facts.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock::doctor {

struct Terms {
  LeaseTerms lease;
  int replicas = 0;       // wanted
  bool of_a_set = false;  // the URL names sentinels or a cluster
  // `replicas` is the need of the name's shard; a shard without a replica needs no more.
  bool of_one_shard = false;
};

// All findings, in the order in which they can be mended.
std::vector<Finding> judge(const SetFacts& set, const LeaseTerms& lease);

using Judge = Finding (*)(const ServerFacts& server, const Terms& terms);

// By topic, in rules_*.cpp. Each judges one server.
Finding judge_connect(const ServerFacts& server, const Terms& terms);
Finding judge_auth(const ServerFacts& server, const Terms& terms);
Finding judge_protect(const ServerFacts& server, const Terms& terms);
Finding judge_version(const ServerFacts& server, const Terms& terms);
Finding judge_proxy(const ServerFacts& server, const Terms& terms);
Finding judge_scripts(const ServerFacts& server, const Terms& terms);
Finding judge_undeclared(const ServerFacts& server, const Terms& terms);
Finding judge_rights(const ServerFacts& server, const Terms& terms);

Finding judge_evict(const ServerFacts& server, const Terms& terms);
Finding judge_evicted(const ServerFacts& server, const Terms& terms);
Finding judge_persist(const ServerFacts& server, const Terms& terms);
Finding judge_bgsave(const ServerFacts& server, const Terms& terms);
Finding judge_fork(const ServerFacts& server, const Terms& terms);

Finding judge_role(const ServerFacts& server, const Terms& terms);
Finding judge_topology(const ServerFacts& server, const Terms& terms);
Finding judge_replicas(const ServerFacts& server, const Terms& terms);
Finding judge_minrepl(const ServerFacts& server, const Terms& terms);

Finding judge_clock(const ServerFacts& server, const Terms& terms);
Finding judge_latency(const ServerFacts& server, const Terms& terms);
Finding judge_slow(const ServerFacts& server, const Terms& terms);
Finding judge_refusals(const ServerFacts& server, const Terms& terms);
Finding judge_clients(const ServerFacts& server, const Terms& terms);
Finding judge_idle(const ServerFacts& server, const Terms& terms);
Finding judge_buffers(const ServerFacts& server, const Terms& terms);

// Judges a server or sentinel that is reached by TLS.
Finding judge_certificate(const Seen<TlsFacts>& tls, bool insecure);

// How many replicas the master lacks after a failover to one of them: then no renewal counts until
// another replica is connected. 0 also if the master has no replica.
int replicas_too_few(const ServerFacts& server, const Terms& terms);

// These judge the whole set.
Finding judge_sentinels(const SetFacts& set);
Finding judge_failover(const SetFacts& set, const Terms& terms);
Finding judge_clocks(const SetFacts& set);
Finding judge_cluster(const SetFacts& set);
Finding judge_masters(const SetFacts& set);
// These judge one master of a cluster.
Finding judge_open_slots(const ServerFacts& server, const Terms& terms);
Finding judge_shard(const ServerFacts& server, const Terms& terms);

// The words that ACL SETUSER still needs: "+hset ~dlock:*".
struct Missing {
  std::string needed;    // dlock does not work without them
  std::string optional;  // dlock works less well without them
};
Missing missing_rights(const std::vector<Right>& rights);

Duration percentile(std::vector<Duration> all, int percent);  // zero if there are none

}  // namespace dlock::doctor
