// SPDX-License-Identifier: MIT
#include "contract/random_claims.hpp"

#include <algorithm>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

constexpr Duration k_longest_lease = 35s;

}  // namespace

RandomClaims::RandomClaims(std::mt19937& random, Line line)
    : random_(random),
      line_(line),
      only_mode_(one_of<Mode>(random, {Mode::plain, Mode::exclusive, Mode::slots, Mode::slots})) {}

LockName RandomClaims::some_name() {
  return name_of(k_names.at(random_() % k_names.size()));
}

Mode RandomClaims::some_mode() {
  if (one_mode()) return only_mode_;
  return one_of<Mode>(random_, {Mode::plain, Mode::exclusive, Mode::shared, Mode::slots});
}

std::vector<LockName> RandomClaims::some_names() {
  if (line_ == Line::with_silent_waiters)
    return {name_of(one_of<std::string>(random_, {"a", "a", "b"}))};
  std::vector<std::string> names(k_names.begin(), k_names.end());
  std::shuffle(names.begin(), names.end(), random_);
  std::vector<std::size_t> counts{1, 1, 1, 1, 2, 3};
  if (line_ == Line::of_several_names) counts = {1, 2, 2, 3};
  if (line_ == Line::of_several_modes) counts = {1};
  const std::size_t count = one_of(random_, counts);
  std::vector<LockName> some;
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(name_of(names[i]));
  return some;
}

Claim RandomClaims::some_claim(std::size_t number) {
  const std::string digits = std::to_string(number);
  const bool by_acquire = random_() % 3 == 0;
  Claim claim{
      .names = some_names(),
      .owner = "o" + digits + ":1",
      .serial = by_acquire ? "a" + std::string(16 - digits.size(), '0') + digits : "s" + digits,
      .ttl = one_of<Duration>(random_, {5s, 15s, 25s, k_longest_lease}),
      .renewed = false,  // else a check of Redis sets a lease that was cut short
      .who = some_holder(),
      .ancestors = {},
      .mode = some_mode(),
      .once_per = one_of<Duration>(random_, {0s, 0s, 15s, 45s})};
  claim.who.supersede = one_of<Supersede>(
      random_, {Supersede::nothing, Supersede::nothing, Supersede::waiting, Supersede::holder});
  if (random_() % 4 == 0) claim.max_waiters = one_of<std::uint64_t>(random_, {0, 1, 2});
  const bool alone = claim.once_per == 0s && claim.who.supersede == Supersede::nothing;
  if (claim.names.size() > 1 && alone && random_() % 2 == 0)
    claim.one_from = random_() % claim.names.size();
  if (claim.mode == Mode::slots)
    claim.slots = one_mode() ? 2 : one_of<std::uint32_t>(random_, {2, 2, 2, 3});
  return claim;
}

void RandomClaims::go_below(const Claim& above, const Holds& held, Claim& claim) {
  claim.ancestors = above.ancestors;
  claim.relies_on = above.relies_on;
  for (const Hold& hold : held) {
    claim.ancestors.push_back(ancestor_of(hold));
    const bool relies = is_of_acquire(hold.serial) && random_() % 4 != 0;
    if (relies) claim.relies_on.push_back(hold_id(hold.owner, hold.serial));
  }
  if (claim.mode == Mode::shared) claim.ttl = k_longest_lease;
}

}  // namespace dlock::contract
