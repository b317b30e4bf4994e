// SPDX-License-Identifier: MIT
#include "store/quorum/quorum_view.hpp"

#include "core/quorum.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

namespace dlock {

namespace {

using Counts = std::map<OwnerId, std::size_t>;

// Returns for each owner how many servers know it as a holder.
Counts owners_in(const std::vector<Vote>& votes) {
  Counts known;
  for (const Vote& vote : votes) {
    if (vote.holding.kind != Holding::Kind::lock) continue;
    for (const Holding::Owner& owner : vote.holding.owners)
      ++known[owner.id];
  }
  return known;
}

std::size_t silent_in(const std::vector<Vote>& votes) {
  return static_cast<std::size_t>(std::count_if(
      votes.begin(), votes.end(), [](const Vote& vote) { return !vote.trouble.empty(); }));
}

std::size_t foreign_in(const std::vector<Vote>& votes) {
  return static_cast<std::size_t>(std::count_if(votes.begin(), votes.end(), [](const Vote& vote) {
    return vote.holding.kind == Holding::Kind::foreign;
  }));
}

std::size_t frozen_in(const std::vector<Vote>& votes) {
  return static_cast<std::size_t>(std::count_if(votes.begin(), votes.end(), [](const Vote& vote) {
    return vote.holding.frozen.has_value();
  }));
}

// Returns one of the votes that `counts` accepts: the one whose token most votes have, because a
// server that granted late may have recorded another token. nullptr: no vote is accepted.
const Vote* most_alike(const std::vector<Vote>& votes,
                       const std::function<bool(const Vote&)>& counts) {
  const auto alike = [&](const Vote& vote) {
    return std::count_if(votes.begin(), votes.end(), [&](const Vote& other) {
      return token_of(other.holding) == token_of(vote.holding);
    });
  };
  const Vote* best = nullptr;
  for (const Vote& vote : votes) {
    if (!counts(vote)) continue;
    if (best == nullptr || alike(vote) > alike(*best)) best = &vote;
  }
  return best;
}

// Adds to `seen` the owners in one server's answer, `word`, that may hold the lock: those for which
// `holds` is true. While servers are silent, the answers may name different owners.
void add_owners(Holding& seen,
                const Holding& word,
                const std::function<bool(const Holding::Owner&)>& holds) {
  for (const Holding::Owner& owner : word.owners) {
    const auto is_it = [&](const Holding::Owner& one) { return one.id == owner.id; };
    if (!holds(owner) || std::any_of(seen.owners.begin(), seen.owners.end(), is_it)) continue;
    seen.owners.push_back(owner);
    std::copy_if(word.holds.begin(),
                 word.holds.end(),
                 std::back_inserter(seen.holds),
                 [&](const HoldRecord& record) { return is_hold_of(record.id, owner.id); });
  }
  seen.owner_count = seen.owners.size();
}

// Adds to `seen` what the answer `word` of a single server proves: a line, a success, a revocation.
void add_word(Holding& seen, const Holding& word) {
  seen.now_ms = std::max(seen.now_ms, word.now_ms);
  if (word.waiting > seen.waiting) {
    seen.waiting = word.waiting;
    seen.line = word.line;
  }
  if (word.success && (!seen.success || word.success->since_ms > seen.success->since_ms))
    seen.success = word.success;
  if (word.last && (!seen.last || word.last->token > seen.last->token)) seen.last = word.last;
  if (word.frozen && (!seen.frozen || word.frozen->left > seen.frozen->left))
    seen.frozen = word.frozen;
  if (seen.revoked_by.empty()) seen.revoked_by = word.revoked_by;
}

}  // namespace

Holding seen_by_majority(std::vector<Vote> votes) {
  const std::size_t silent = silent_in(votes);
  const auto may_be_most = [&](std::size_t count) {
    return count > 0 && count + silent >= quorum::needed(votes.size());
  };
  const Counts known = owners_in(votes);
  const auto holds = [&](const Holding::Owner& owner) {
    const auto found = known.find(owner.id);
    return found != known.end() && may_be_most(found->second);
  };
  const Vote* best = most_alike(votes, [&](const Vote& vote) {
    const auto& owners = vote.holding.owners;
    return vote.holding.kind == Holding::Kind::lock &&
           std::any_of(owners.begin(), owners.end(), holds);
  });
  if (best == nullptr && may_be_most(foreign_in(votes)))
    best = most_alike(votes,
                      [](const Vote& vote) { return vote.holding.kind == Holding::Kind::foreign; });
  Holding seen = best != nullptr ? best->holding : Holding();
  if (seen.kind == Holding::Kind::lock) {
    seen.owners.clear();
    seen.holds.clear();
    add_owners(seen, best->holding, holds);
    for (const Vote& vote : votes)
      if (vote.holding.kind == Holding::Kind::lock) add_owners(seen, vote.holding, holds);
  }
  const bool frozen = may_be_most(frozen_in(votes));
  for (const Vote& vote : votes)
    add_word(seen, vote.holding);
  if (!frozen) seen.frozen.reset();
  seen.votes = std::move(votes);
  return seen;
}

Result<RevokeReply> revoked_by_majority(const std::vector<Result<RevokeReply>>& all,
                                        std::vector<Vote> before) {
  const std::size_t needed = quorum::needed(all.size());
  std::map<RevokeVerdict, std::size_t> said;
  for (const auto& one : all)
    if (one) ++said[one->verdict];
  RevokeReply reply{.verdict = RevokeVerdict::nothing,
                    .before = seen_by_majority(std::move(before))};
  const std::size_t ended = said[RevokeVerdict::revoked] + said[RevokeVerdict::deleted];
  for (const auto& [verdict, count] : said) {
    if (count < needed) continue;
    reply.verdict = verdict;
    return reply;
  }
  if (ended >= needed) {
    reply.verdict = RevokeVerdict::revoked;
    return reply;
  }
  return Error{Errc::unavailable,
               "only " + std::to_string(ended) + " of " + std::to_string(all.size()) +
                   " servers took the order, and " + std::to_string(needed) + " have to"};
}

}  // namespace dlock
