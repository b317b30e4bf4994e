// SPDX-License-Identifier: MIT
#include "cmd/holder_text.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// Returns ", lease 21s left", for the end of a sentence about a holder; empty if the lease is
// unknown.
std::string and_lease(const Holding& holding, Duration seen_ago) {
  const std::string lease = lease_text(lease_left_after(holding, seen_ago));
  return lease.empty() ? "" : ", " + lease;
}

std::string held_text(const Holding& holding) {
  switch (holding.mode) {
    case Mode::plain:
    case Mode::exclusive:
      break;
    case Mode::shared:
      return "held shared by ";
    case Mode::slots:
      return std::to_string(holding.owner_count) + " of " + std::to_string(holding.slots) +
             " slots held, by ";
  }
  return "held by ";
}

std::string holder_of(const HolderInfo& who, Detail detail) {
  const std::string name = detail < Detail::no_command ? short_command(who) : "";
  return (detail == Detail::full ? who_text(who) : short_who(who)) +
         (name.empty() ? "" : " (" + name + ")");
}

std::string kept_text(const Holding& holding, Duration seen_ago) {
  const LeaseLeft left = lease_left_after(holding, seen_ago);
  if (!left.within()) return " (--min-hold)";
  const bool at_most = left.kind() == LeaseLeft::Kind::at_most;
  return (at_most ? " for at most " : " for ") + format_duration(*left.within()) +
         " more (--min-hold)";
}

}  // namespace

const HoldRecord& first_hold(const Holding& holding) {
  return *std::min_element(
      holding.holds.begin(), holding.holds.end(), [](const auto& one, const auto& other) {
        return std::pair(one.kept, one.since_ms) < std::pair(other.kept, other.since_ms);
      });
}

bool is_only_kept(const Holding& holding) {
  return !holding.holds.empty() && first_hold(holding).kept;
}

bool is_only_frozen(const Holding& holding) {
  return holding.frozen && (holding.kind == Holding::Kind::none || is_only_kept(holding));
}

std::string frozen_text(const Freeze& freeze, Duration seen_ago, Detail detail) {
  const Duration left = std::max<Duration>(freeze.left - seen_ago, Duration::zero());
  std::string text = "frozen by ";
  text += detail == Detail::full ? printable(freeze.who.user) + "@" + printable(freeze.who.host)
                                 : short_who(freeze.who);
  if (detail < Detail::who) text += " for " + format_duration(left) + " more";
  const bool reason = detail < Detail::no_reason && !freeze.who.reason.empty();
  return reason ? text + ": " + printable(freeze.who.reason) : text;
}

std::string short_who(const HolderInfo& who) {
  return printable(who.user) + "@" + printable(who.host.substr(0, who.host.find('.')));
}

// Shows the file name of the command without its folder, which says little. The file name matters,
// as containers with similar host names may run different commands.
std::string short_command(const HolderInfo& who) {
  return printable(who.command.substr(who.command.rfind('/') + 1));
}

std::string others_text(const Holding& holding) {
  const bool alone = holding.mode == Mode::plain || holding.mode == Mode::exclusive;
  if (alone || holding.owner_count < 2) return "";
  const std::uint64_t others = holding.owner_count - 1;
  return " and " + std::to_string(others) + (others == 1 ? " other" : " others");
}

std::string lease_text(const LeaseLeft& left) {
  switch (left.kind()) {
    case LeaseLeft::Kind::not_known:
      return "";
    case LeaseLeft::Kind::exact:
      return "lease " + format_duration(*left.within()) + " left";
    case LeaseLeft::Kind::at_most:
      return "lease at most " + format_duration(*left.within()) + " left";
    case LeaseLeft::Kind::never:
      return "without expiry";
  }
  return "";
}

const char* lease_left_word(const LeaseLeft& left) {
  switch (left.kind()) {
    case LeaseLeft::Kind::not_known:
      return "unknown";
    case LeaseLeft::Kind::exact:
      return "exact";
    case LeaseLeft::Kind::at_most:
      return "at_most";
    case LeaseLeft::Kind::never:
      return "never";
  }
  return "unknown";
}

namespace {

std::string unfrozen_text(const Holding& holding, Duration seen_ago, Detail detail) {
  if (holding.kind == Holding::Kind::none) {
    return holding.waiting == 0 ? "free" : "free, reserved for the first waiter";
  }
  const std::string lease = detail < Detail::no_lease ? and_lease(holding, seen_ago) : "";
  if (holding.kind == Holding::Kind::foreign) {
    const std::string who = holding.owners.empty() ? "" : ", " + holding.owners.front().id;
    const std::string doubt = holding.doubt.empty() ? "" : "; " + holding.doubt;
    return "held by a foreign lock (" + printable(holding.type + who + doubt) + ")" + lease;
  }
  const std::string others = others_text(holding);
  if (holding.holds.empty()) {
    const std::string owner = holding.owners.empty() ? "?" : printable(holding.owners.front().id);
    return held_text(holding) + owner + " (not dlock)" + others + lease;
  }
  const HoldRecord& first = first_hold(holding);
  std::string text;
  if (first.kept) {
    text = "kept by " + holder_of(first.who, detail) + others + kept_text(holding, seen_ago);
  } else {
    const bool has_age = detail < Detail::who && first.since_ms != 0;
    const std::string age =
        has_age ? " for " + format_duration(age_of(first, holding) + seen_ago) : "";
    text = held_text(holding) + holder_of(first.who, detail) + age + others + lease;
  }
  if (!holding.revoked_by.empty()) text += ", revoked by " + printable(holding.revoked_by);
  const bool reason = detail < Detail::no_reason && !first.who.reason.empty();
  return reason ? text + ": " + printable(first.who.reason) : text;
}

}  // namespace

std::string holder_text(const Holding& holding, Duration seen_ago, Detail detail) {
  if (is_only_frozen(holding)) return frozen_text(*holding.frozen, seen_ago, detail);
  std::string text = unfrozen_text(holding, seen_ago, detail);
  if (holding.frozen && detail < Detail::no_lease)
    text += "; " + frozen_text(*holding.frozen, seen_ago, detail);
  return text;
}

std::string vote_text(const Vote& vote, Duration seen_ago) {
  if (vote.trouble.empty()) return vote.server + ": " + holder_text(vote.holding, seen_ago);
  // Most errors already name the server.
  const bool named = vote.trouble.find(vote.server) != std::string::npos;
  return (named ? "" : vote.server + ": ") + printable(vote.trouble);
}

LogEvent::Object holder_fields(const Holding& holding, Duration seen_ago) {
  LogEvent::Object holder;
  auto& fields = holder.fields;
  if (holding.kind == Holding::Kind::foreign) {
    fields = {{"type", holding.type}};
    if (!holding.owners.empty()) fields.push_back({"owner", holding.owners.front().id});
  } else if (holding.holds.empty()) {
    if (!holding.owners.empty()) fields = {{"owner", holding.owners.front().id}};
  } else {
    const HoldRecord& first = first_hold(holding);
    fields = {{"host", first.who.host},
              field_if_known("pid", first.who.pid),
              {"user", first.who.user},
              {"command", first.who.command},
              {"reason", first.who.reason},
              {"age_ms", nullptr}};
    if (first.since_ms != 0) fields.back().value = to_ms(age_of(first, holding) + seen_ago);
  }
  const LeaseLeft left = lease_left_after(holding, seen_ago);
  if (left.within()) fields.push_back({"lease_left_ms", to_ms(*left.within())});
  fields.push_back({"lease_left", lease_left_word(left)});
  if (holding.frozen) {
    const Duration frozen = std::max<Duration>(holding.frozen->left - seen_ago, Duration::zero());
    fields.push_back({"frozen_ms", to_ms(frozen)});
  }
  return holder;
}

std::string self_deadlock_text(const Holding& holding, Mode mode) {
  const bool slot = holding.mode == Mode::slots;
  const std::string held = slot ? " as one of " + std::to_string(holding.slots) + " slots"
                           : holding.mode == Mode::shared ? " shared"
                                                          : "";
  const char* const asked = slot && mode == Mode::slots ? "a claim with another number of slots"
                            : mode == Mode::slots       ? "a claim of a slot"
                            : mode == Mode::shared      ? "a shared claim"
                            : mode == Mode::exclusive   ? "an exclusive claim"
                                                        : "a plain claim";
  return "held" + held + " by an ancestor of this run: " + asked + " would deadlock";
}

std::string ordinal(std::uint64_t number) {
  const bool teen = number % 100 / 10 == 1;
  constexpr std::array<const char*, 4> k_endings{"th", "st", "nd", "rd"};
  const std::uint64_t last = number % 10;
  return std::to_string(number) + k_endings[teen || last > 3 ? 0 : last];
}

std::string place_text(std::uint64_t place, std::uint64_t waiting) {
  if (place == 0) return "";
  return ordinal(place) + " of " + std::to_string(waiting) + ", ";
}

}  // namespace dlock
