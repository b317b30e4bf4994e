// SPDX-License-Identifier: MIT
#include "core/holding.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace dlock {

using namespace std::chrono_literals;

std::string_view mode_word(Mode mode) {
  switch (mode) {
    case Mode::plain:
      return "plain";
    case Mode::exclusive:
      return "exclusive";
    case Mode::shared:
      return "shared";
    case Mode::slots:
      return "slots";
  }
  return "?";
}

std::string_view supersede_word(Supersede what) {
  switch (what) {
    case Supersede::nothing:
      return "";
    case Supersede::waiting:
      return "waiting";
    case Supersede::holder:
      return "holder";
  }
  return "";
}

Supersede parse_supersede(std::string_view word) {
  for (const Supersede what : {Supersede::waiting, Supersede::holder})
    if (word == supersede_word(what)) return what;
  return Supersede::nothing;
}

std::string who_text(const HolderInfo& who) {
  return printable(who.user) + "@" + printable(who.host) + " pid " + std::to_string(who.pid);
}

std::chrono::milliseconds age_of(const HoldRecord& hold, const Holding& holding) {
  return std::chrono::milliseconds(std::max<std::int64_t>(holding.now_ms - hold.since_ms, 0));
}

FencingToken token_of(const Holding& holding) {
  FencingToken token = 0;
  for (const HoldRecord& hold : holding.holds)
    token = std::max(token, hold.token);
  return token;
}

// Returns the time left if no holder can have renewed its lease since the holding was seen;
// otherwise "not known". A living holder renews its lease when two thirds of it are left, and a
// renewal takes at most a tenth of the lease (lease.hpp). So a lease with less time left than that
// is not being renewed.
LeaseLeft lease_left_after(const Holding& holding, Duration seen_ago) {
  const auto seen = holding.lease_left.within();
  if (!seen || seen_ago <= 0ns || holding.lease_left.kind() == LeaseLeft::Kind::at_most)
    return holding.lease_left;
  const Duration left = *seen - seen_ago;
  const auto may_be_renewed = [&](const HoldRecord& hold) {
    const Duration due = hold.ttl - hold.ttl / 3;
    const bool known = hold.ttl > 0ns;  // a ShedLock table records no ttl
    return !hold.kept && (!known || (left <= due && *seen >= due - hold.ttl / 10));
  };
  if (left <= 0ns || std::any_of(holding.holds.begin(), holding.holds.end(), may_be_renewed))
    return {};
  return left;
}

}  // namespace dlock
