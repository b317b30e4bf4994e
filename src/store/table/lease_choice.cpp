// SPDX-License-Identifier: MIT
#include "store/table/lease_choice.hpp"

#include "store/table/lease_holding.hpp"
#include "store/table/lease_table.hpp"
#include "store/table/waiting_line.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace dlock::lease_table {

namespace {

// If the claim has a hold that was revoked, it wants no other name, and waits for the end of that
// hold.
void want_no_second(std::vector<Plan>& plans) {
  if (std::none_of(plans.begin(), plans.end(), [](const Plan& one) { return one.given_up; }))
    return;
  for (Plan& plan : plans)
    if (!plan.given_up && plan.kind != Plan::Kind::again) plan = {.kind = Plan::Kind::unwanted};
}

// Returns the index of the plan to carry out; nullopt: the claim is refused.
std::optional<std::size_t> chosen_of(const std::vector<Plan>& plans, const Claim& claim) {
  const std::vector<std::size_t> order = order_of(claim);
  const auto first = [&](Plan::Kind kind) -> std::optional<std::size_t> {
    const auto at = std::find_if(
        order.begin(), order.end(), [&](std::size_t i) { return plans[i].kind == kind; });
    if (at == order.end()) return std::nullopt;
    return *at;
  };
  if (const auto again = first(Plan::Kind::again)) return again;
  if (const auto join = first(Plan::Kind::join)) return join;
  return first(Plan::Kind::fresh);
}

// Returns for how long a free name that the claim must wait for is still offered to another waiter;
// if there are several such names, the shortest time.
std::optional<Duration> turn_left(const States& states,
                                  const std::vector<Plan>& plans,
                                  const Moment& moment) {
  std::optional<Duration> least;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].turn) continue;
    const Duration left = states[i]->line.front().alive_until - moment.now;
    least = std::min(least.value_or(left), left);
  }
  return least;
}

}  // namespace

AcquireReply acquire_one(const States& states,
                         const Claim& claim,
                         std::vector<Plan> plans,
                         const Moment& moment,
                         Queueing queueing) {
  want_no_second(plans);
  if (const auto chosen = chosen_of(plans, claim)) {
    const Plan& plan = plans[*chosen];
    const HoldRecord& record = carry_out(plan, *states[*chosen], claim, moment);
    Grant grant{.holds = {hold_of(claim, *chosen, plan.owner, record)}, .sent_at = moment.sent_at};
    leave(states, claim, moment);
    return grant;
  }
  const Queued queued =
      queue_up(states, {.claim = claim, .plans = plans, .queueing = queueing}, moment);
  return Refusal{.holding = in_the_way(*states[queued.which], claim, moment),
                 .which = queued.which,
                 .place = queued.place,
                 .turn_left = turn_left(states, plans, moment),
                 .by_ancestor = std::all_of(
                     plans.begin(), plans.end(), [](const Plan& one) { return one.by_ancestor; })};
}

}  // namespace dlock::lease_table
