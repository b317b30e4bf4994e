// SPDX-License-Identifier: MIT
#include "cmd/lock_metrics.hpp"

#include "base/duration.hpp"
#include "cmd/holder_text.hpp"
#include "cmd/prometheus_text.hpp"

#include <array>
#include <optional>

namespace dlock {

namespace {

bool is_held_by_run(const Holding& holding) {
  return !is_only_kept(holding) && !is_only_frozen(holding);
}

std::optional<std::string> held(const Holding& holding) {
  return is_held_by_run(holding) ? "1" : "0";
}

std::optional<std::string> holders(const Holding& holding) {
  return is_held_by_run(holding) ? std::to_string(holding.owner_count) : "0";
}

std::optional<std::string> frozen(const Holding& holding) {
  return holding.frozen ? "1" : "0";
}

std::optional<std::string> waiters(const Holding& holding) {
  return std::to_string(holding.waiting);
}

std::optional<std::string> hold_age(const Holding& holding) {
  if (holding.holds.empty() || is_only_kept(holding)) return {};
  const HoldRecord& first = first_hold(holding);
  if (first.since_ms == 0) return {};
  return metric_seconds(age_of(first, holding).count());
}

std::optional<std::string> lease_left(const Holding& holding) {
  if (holding.lease_left.kind() == LeaseLeft::Kind::never) return "+Inf";
  const auto left = holding.lease_left.within();
  return left ? std::optional(metric_seconds(to_ms(*left))) : std::nullopt;
}

struct Metric {
  const char* name;
  const char* help;
  std::optional<std::string> (*value)(const Holding& holding);  // nullopt: not known
};

constexpr std::array k_metrics{
    Metric{"dlock_held", "1 if a run holds the lock, 0 if it is only kept or frozen.", held},
    Metric{"dlock_holders", "How many runs hold the lock at once.", holders},
    Metric{"dlock_waiters", "How many runs wait for the lock.", waiters},
    Metric{"dlock_frozen", "1 if the lock is frozen (dlock freeze), otherwise 0.", frozen},
    Metric{"dlock_hold_age_seconds", "For how long the oldest holder has held it.", hold_age},
    Metric{"dlock_lease_left_seconds", "When the lease ends unless it is renewed.", lease_left},
};

std::string up(bool answers) {
  return metric_heading("dlock_up", "gauge", "1 if the locks could be read, otherwise 0.") +
         "dlock_up " + (answers ? "1" : "0") + "\n";
}

}  // namespace

std::string lock_metrics(const std::vector<NamedHolding>& locks, bool has_line) {
  std::string text = up(true);
  for (const Metric& metric : k_metrics) {
    if (!has_line && metric.value == waiters) continue;
    text += metric_heading(metric.name, "gauge", metric.help);
    for (const NamedHolding& lock : locks) {
      const auto value = metric.value(lock.holding);
      if (value) {
        text += std::string(metric.name) + "{" + lock_label(lock.name) + "} " + *value + "\n";
      }
    }
  }
  return text;
}

std::string metrics_without_store() {
  return up(false);
}

}  // namespace dlock
