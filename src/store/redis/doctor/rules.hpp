// SPDX-License-Identifier: MIT
// The rules by which `dlock doctor` judges Redis: one small pure function for each check. The
// checks and their ids are listed in dlock-doctor(7).
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
  int replicas = 0;       // how many replicas must have a grant
  bool of_a_set = false;  // the URL names sentinels or a cluster
  // `replicas` was not given with --replicas, but follows from the replicas of one master: the
  // master that has the examined name. Another master of the cluster that has no replica needs
  // none.
  bool of_one_shard = false;
};

// Judges all facts. Returns the findings in the order in which they should be repaired.
std::vector<Finding> judge(const SetFacts& set, const LeaseTerms& lease);

using Judge = Finding (*)(const ServerFacts& server, const Terms& terms);

// Rules about one server, grouped by topic in the files rules_*.cpp.
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

// Judges the certificate of a server or sentinel. `insecure`: it was accepted without verification.
Finding judge_certificate(const Seen<TlsFacts>& tls, bool insecure);

// Returns how many replicas would be missing after a failover, which makes one of the replicas the
// master. As long as replicas are missing, no renewal is confirmed. Returns 0 if enough would be
// left, or if the master has no replica.
int replicas_too_few(const ServerFacts& server, const Terms& terms);

// Rules about the set of servers as a whole.
Finding judge_sentinels(const SetFacts& set);
Finding judge_failover(const SetFacts& set, const Terms& terms);
Finding judge_clocks(const SetFacts& set);
Finding judge_cluster(const SetFacts& set);
Finding judge_masters(const SetFacts& set);
// Rules about one master of a cluster.
Finding judge_open_slots(const ServerFacts& server, const Terms& terms);
Finding judge_shard(const ServerFacts& server, const Terms& terms);

// Rights that this user lacks, in the form of ACL SETUSER: "+hset ~dlock:*".
struct Missing {
  std::string needed;    // missing rights without which dlock does not work
  std::string optional;  // missing rights without which dlock works less well
};
Missing missing_rights(const std::vector<Right>& rights);

Duration percentile(std::vector<Duration> all, int percent);  // zero if `all` is empty

}  // namespace dlock::doctor
