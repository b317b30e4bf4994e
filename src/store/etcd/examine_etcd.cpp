// SPDX-License-Identifier: MIT
#include "store/etcd/examine_etcd.hpp"

#include "store/doctor/trial.hpp"
#include "store/etcd/etcd_client.hpp"
#include "store/etcd/etcd_store.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace dlock {

namespace {

Finding judge_leader(const EtcdAnswer& status) {
  if (status.has_leader) return good("the member has a leader");
  return broken("the member has no leader",
                "no grant and no renewal is confirmed there",
                "start the other members, or mend the network between them");
}

Finding judge_members(std::size_t named) {
  if (named > 1) return good("the URL names " + std::to_string(named) + " members");
  return info("the URL names one member", "when it is down, dlock asks no other");
}

// Adds the findings about one member. Returns its status; the version is empty if it did not
// answer.
EtcdAnswer examine_member(const EtcdAddress& address,
                          const StoreOptions& options,
                          const ExamineTerms& terms,
                          std::vector<Finding>& all) {
  EtcdClient client(address, options.interrupt);
  Findings findings(client.where());
  const Time soon = std::min(terms.until, BootClock::now() + terms.connect_timeout);
  const auto answers = client.run({EtcdStatus{}}, soon);
  EtcdAnswer status;
  if (!answers) {
    findings.add("connect", judge_connect(answers.error().text));
  } else {
    status = answers->front();
    findings.add("version", judge_etcd_version(status.version));
    findings.add("leader", judge_leader(status));
  }
  for (Finding& finding : findings.take())
    all.push_back(std::move(finding));
  return status;
}

// Adds the number of a member's cluster to `identity`, which says which store the URL leads to. If
// the URL names members of two clusters, the identity has both.
void add_cluster(Identity& identity, const std::string& cluster) {
  const auto is_it = [&](const Identity::Part& part) { return part.value == cluster; };
  if (std::any_of(identity.parts.begin(), identity.parts.end(), is_it)) return;
  identity.unseen.clear();
  identity.add("cluster", cluster, "the members do not tell their cluster_id");
}

}  // namespace

Finding judge_etcd_version(const std::string& version) {
  std::array<int, 2> number{};
  const int read = std::sscanf(version.c_str(), "%d.%d", &number[0], &number[1]);
  const std::string seen = "etcd " + version;
  if (read < 2) return not_seen("the member does not tell its version");
  if (number < std::array{3, 4})
    return broken(seen, "dlock needs etcd 3.4 or newer", "upgrade the members");
  return info(seen);
}

Examination examine_etcd(const EtcdAddress& address,
                         const StoreOptions& options,
                         const ExamineTerms& terms) {
  const auto store = EtcdStore::open(address, options);
  const auto rival = EtcdStore::open(address, options);
  Examination all{.url = store->where()};
  bool any = false;
  for (const Endpoint& server : address.servers) {
    EtcdAddress member = address;
    member.servers = {server};
    const EtcdAnswer status = examine_member(member, options, terms, all.findings);
    all.servers.push_back({.url = url_of(server), .product = "etcd", .version = status.version});
    if (status.version.empty()) continue;
    any = true;
    add_cluster(all.identity, status.cluster);
  }
  if (!any) return all;
  Trial trial;
  {
    const Undisturbed signals(terms.calls);
    trial = try_lock(*store, *rival, trial_name(terms.name), signals, terms.until);
  }
  Findings findings(all.url);
  trial.of_any_name = !terms.name;
  findings.add("members", judge_members(address.servers.size()));
  findings.add("trial", judge_trial(trial));
  findings.add("latency", measure_answers(*store, terms, all.servers.front()));
  for (Finding& finding : findings.take())
    all.findings.push_back(std::move(finding));
  return all;
}

}  // namespace dlock
