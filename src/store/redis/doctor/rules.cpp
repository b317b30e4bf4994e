// SPDX-License-Identifier: MIT
#include "store/redis/doctor/rules.hpp"

#include <algorithm>
#include <array>

namespace dlock::doctor {

namespace {

// A rule, and the servers to which it applies: every server (because a replica may become the
// master), every master, or only the master that has the examined name.
struct Rule {
  std::string_view id;
  Judge judge;
  enum class Scope { every, masters, home } scope = Scope::masters;
};

// The rules about one server are in several lists, in the order in which their findings should be
// repaired. k_first has first the rules about what hides other faults, then those about what is
// broken now. The later lists are about what a failure would break. judge() puts the rules about
// the set of servers between the lists.
constexpr auto k_first = std::to_array<Rule>({
    {"connect", judge_connect, Rule::Scope::every},
    {"auth", judge_auth},
    {"protect", judge_protect},
    {"version", judge_version, Rule::Scope::every},
    {"proxy", judge_proxy},
    {"role", judge_role, Rule::Scope::every},
    {"topology", judge_topology},
    {"scripts", judge_scripts},
    {"rights", judge_rights},
    {"undeclared", judge_undeclared, Rule::Scope::home},
    {"bgsave", judge_bgsave, Rule::Scope::every},
    {"replicas", judge_replicas},
});
constexpr auto k_then = std::to_array<Rule>({
    {"evict", judge_evict, Rule::Scope::every},
    {"evicted", judge_evicted, Rule::Scope::every},
    {"persist", judge_persist, Rule::Scope::every},
    {"minrepl", judge_minrepl},
});
constexpr auto k_of_cluster = std::to_array<Rule>({
    {"cluster", judge_open_slots},
    {"cluster", judge_shard},
});
constexpr auto k_last = std::to_array<Rule>({
    {"clock", judge_clock, Rule::Scope::every},
    {"latency", judge_latency},
    {"slow", judge_slow},
    {"slow", judge_refusals},
    {"fork", judge_fork, Rule::Scope::every},
    {"clients", judge_clients},
    {"idle", judge_idle},
    {"buffers", judge_buffers},
});

class Judgement {
 public:
  Judgement(const SetFacts& set, const Terms& terms) : set_(set), terms_(terms) {}

  template <class Rules>
  void of_servers(const Rules& rules) {
    for (const Rule& rule : rules) {
      for (const ServerFacts& server : set_.servers) {
        if (server.way.is_replica && rule.scope != Rule::Scope::every) continue;
        if (server.way.is_other && rule.scope == Rule::Scope::home) continue;
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
  const bool of_one_shard = set.cluster && set.replicas_by_default;
  const Terms terms{lease, set.wanted_replicas, watched || set.cluster, of_one_shard};
  Judgement judgement(set, terms);
  if (watched) judgement.add("sentinels", set.url, judge_sentinels(set));
  for (const SentinelFacts& one : set.sentinels) {
    if (one.tls && !one.unreachable)
      judgement.add("connect", one.url, judge_certificate(one.certificate, one.insecure));
  }
  if (set.cluster) {
    judgement.add("cluster", set.url, judge_cluster(set));
    judgement.add("cluster", set.url, judge_masters(set));
  }
  for (const std::string& server : set.unasked)
    judgement.add("connect", server, not_seen("there was no time left for it"));
  judgement.of_servers(k_first);
  judgement.add("trial", set.url, judge_trial(set.trial));
  judgement.of_servers(k_then);
  if (set.cluster) judgement.of_servers(k_of_cluster);
  if (terms.of_a_set) judgement.add("failover", set.url, judge_failover(set, terms));
  if (set.servers.size() > 1) judgement.add("clock", set.url, judge_clocks(set));
  judgement.of_servers(k_last);
  judgement.add("pubsub", set.url, judge_turns(set.trial));
  judgement.add("tracking", set.url, judge_changes(set.trial, lease.renew_step()));
  return judgement.take();
}

}  // namespace dlock::doctor
