// SPDX-License-Identifier: MIT
#include "store/redis/doctor/rules.hpp"

#include <algorithm>
#include <array>

namespace dlock::doctor {

namespace {

struct Rule {
  std::string_view id;
  Judge judge;
  bool of_replicas = false;  // it matters there too: a replica may become the master
};

// Two runs of rules about one server, in the order in which they can be mended: first what keeps
// the rest from being seen, then what is broken now, then what a failure would break. Rules about
// the whole set are between them.
constexpr auto k_first = std::to_array<Rule>({
    {"connect", judge_connect, true},
    {"auth", judge_auth, false},
    {"protect", judge_protect, false},
    {"version", judge_version, true},
    {"proxy", judge_proxy, false},
    {"role", judge_role, true},
    {"topology", judge_topology, false},
    {"scripts", judge_scripts, false},
    {"rights", judge_rights, false},
    {"undeclared", judge_undeclared, false},
    {"bgsave", judge_bgsave, true},
    {"replicas", judge_replicas, false},
});
constexpr auto k_then = std::to_array<Rule>({
    {"evict", judge_evict, true},
    {"evicted", judge_evicted, true},
    {"persist", judge_persist, true},
    {"minrepl", judge_minrepl, false},
});
constexpr auto k_last = std::to_array<Rule>({
    {"clock", judge_clock, true},
    {"latency", judge_latency, false},
    {"slow", judge_slow, false},
    {"slow", judge_refusals, false},
    {"fork", judge_fork, true},
    {"clients", judge_clients, false},
    {"idle", judge_idle, false},
    {"buffers", judge_buffers, false},
});

class Judgement {
 public:
  Judgement(const SetFacts& set, const Terms& terms) : set_(set), terms_(terms) {}

  template <class Rules>
  void of_servers(const Rules& rules) {
    for (const Rule& rule : rules) {
      for (const ServerFacts& server : set_.servers) {
        if (server.way.is_replica && !rule.of_replicas) continue;
        if (server.unreachable && rule.judge != judge_connect) continue;
        add(rule.id, server.way.url, rule.judge(server, terms_));
      }
    }
  }
  void add(std::string_view id, const std::string& server, Finding finding) {
    finding.id = id;
    finding.server = server;
    findings_.push_back(std::move(finding));
  }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  const SetFacts& set_;
  const Terms& terms_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> judge(const SetFacts& set, const LeaseTerms& lease) {
  const bool watched = !set.sentinels.empty();
  const Terms terms{lease, set.wanted_replicas, watched || set.is_cluster};
  Judgement judgement(set, terms);
  if (watched) judgement.add("sentinels", set.url, judge_sentinels(set));
  judgement.of_servers(k_first);
  judgement.add("trial", set.url, judge_trial(set.trial));
  judgement.of_servers(k_then);
  if (watched) judgement.add("failover", set.url, judge_failover(set, lease));
  if (set.servers.size() > 1) judgement.add("clock", set.url, judge_clocks(set));
  judgement.of_servers(k_last);
  judgement.add("pubsub", set.url, judge_turns(set.trial));
  judgement.add("tracking", set.url, judge_changes(set.trial, lease.renew_step()));
  return judgement.take();
}

}  // namespace dlock::doctor
