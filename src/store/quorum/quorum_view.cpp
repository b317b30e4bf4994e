// SPDX-License-Identifier: MIT
#include "store/quorum/quorum_view.hpp"

#include "core/quorum.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace dlock {

namespace {

bool is_of_owner(const HoldRecord& record, const OwnerId& owner) {
  return is_hold_of(record.id, owner);
}

}  // namespace

Holding seen_by_majority(std::vector<Vote> votes) {
  const std::size_t needed = quorum::needed(votes.size());
  std::map<OwnerId, std::size_t> known;
  std::size_t foreign = 0;
  for (const Vote& vote : votes) {
    foreign += vote.holding.kind == Holding::Kind::foreign ? 1U : 0U;
    for (const Holding::Owner& owner : vote.holding.owners)
      known[owner.id] += vote.holding.kind == Holding::Kind::lock ? 1U : 0U;
  }
  const auto holds = [&](const Holding::Owner& owner) { return known[owner.id] >= needed; };
  const auto shows = [&](const Vote& vote) {
    if (foreign >= needed) return vote.holding.kind == Holding::Kind::foreign;
    const auto& owners = vote.holding.owners;
    return vote.holding.kind == Holding::Kind::lock &&
           std::any_of(owners.begin(), owners.end(), holds);
  };
  // Of a hold that was granted late at a server the record there may have another token.
  const auto alike = [&](const Vote& vote) {
    return std::count_if(votes.begin(), votes.end(), [&](const Vote& other) {
      return token_of(other.holding) == token_of(vote.holding);
    });
  };
  auto best = votes.end();
  for (auto vote = votes.begin(); vote != votes.end(); ++vote) {
    if (!shows(*vote)) continue;
    if (best == votes.end() || alike(*vote) > alike(*best)) best = vote;
  }
  Holding seen;
  if (best != votes.end()) {
    seen = best->holding;
    if (seen.kind == Holding::Kind::lock) {
      std::erase_if(seen.owners, [&](const Holding::Owner& owner) { return !holds(owner); });
      std::erase_if(seen.holds, [&](const HoldRecord& record) {
        return std::none_of(seen.owners.begin(), seen.owners.end(), [&](const auto& owner) {
          return is_of_owner(record, owner.id);
        });
      });
      seen.owner_count = seen.owners.size();
    }
  }
  for (const Vote& vote : votes) {
    seen.now_ms = std::max(seen.now_ms, vote.holding.now_ms);
    if (vote.holding.waiting > seen.waiting) {
      seen.waiting = vote.holding.waiting;
      seen.line = vote.holding.line;
    }
    const auto& success = vote.holding.success;
    if (success && (!seen.success || success->ago < seen.success->ago)) seen.success = success;
    if (seen.revoked_by.empty()) seen.revoked_by = vote.holding.revoked_by;
  }
  seen.votes = std::move(votes);
  return seen;
}

Result<RevokeReply> revoked_by_majority(const std::vector<std::optional<Result<RevokeReply>>>& all,
                                        std::vector<Vote> before) {
  const std::size_t needed = quorum::needed(all.size());
  std::map<RevokeVerdict, std::size_t> said;
  for (const auto& one : all)
    if (one && *one) ++said[(*one)->verdict];
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
