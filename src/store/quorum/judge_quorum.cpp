// SPDX-License-Identifier: MIT
#include "store/quorum/judge_quorum.hpp"

#include "base/duration.hpp"
#include "core/quorum.hpp"

#include <string>
#include <utility>

namespace dlock {

namespace {

Finding judge_majority(std::size_t reached, std::size_t all) {
  const std::string seen =
      std::to_string(reached) + " of " + std::to_string(all) + " servers answer";
  if (reached == all) return good(seen);
  if (reached >= quorum::needed(all))
    return warning(seen,
                   "the loss of " + std::to_string(reached - quorum::needed(all) + 1) +
                       " more ends every hold",
                   "start the others");
  return broken(seen, "no lock can be taken without a majority", "start the others");
}

// Returns a finding that says whether one of the servers is a replica, which is a fault: a replica
// that becomes a master may lack grants, like a restarted server, but its uptime does not show
// that.
Finding judge_roles(const std::vector<ExaminedServer>& servers) {
  for (const ExaminedServer& server : servers) {
    if (server.role != "slave") continue;
    return broken(server.url + " is a replica",
                  "a replica that is promoted has forgotten locks, and votes at once",
                  "use independent servers, without Sentinel or Cluster");
  }
  return good("no server is a replica");
}

Finding judge_names(const std::vector<ExaminedServer>& servers) {
  for (std::size_t i = 0; i < servers.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!servers[i].process.empty() && servers[i].process == servers[j].process)
        return broken(servers[j].url + " and " + servers[i].url + " are one server",
                      "it has one vote, and a claim that both names answer is refused (78)",
                      "name each server once");
  return good("each URL leads to a server of its own");
}

Finding judge_delay(Duration delay) {
  if (delay > Duration::zero())
    return good("a restarted server has no vote for " + format_duration(delay));
  return info("the quorum delay is 0",
              "only safe if every server writes every command to disk (appendfsync always)");
}

}  // namespace

Finding judge_silent_member(const std::string& text) {
  return warning(text,
                 "it has no vote, and no part of any hold",
                 "mend what the reason names: the URL, the password, the network or the server");
}

std::vector<Finding> judge_quorum(const std::vector<ExaminedServer>& servers,
                                  std::size_t reached,
                                  std::size_t all,
                                  Duration delay) {
  Findings findings("the quorum");
  findings.add("majority", judge_majority(reached, all));
  findings.add("independent", judge_roles(servers));
  findings.add("once", judge_names(servers));
  findings.add("quorum_delay", judge_delay(delay));
  return findings.take();
}

}  // namespace dlock
