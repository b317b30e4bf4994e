// SPDX-License-Identifier: MIT
// The locks of a store as metrics for Prometheus.
#include "cmd/lock_metrics.hpp"

#include "base/text.hpp"

#include <doctest/doctest.h>

#include "support/has.hpp"
#include "unit/held.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;
using test::held;

namespace {

std::string metrics_of(const Holding& holding, const std::string& name = "n") {
  return lock_metrics({{.name = name, .key = "k", .holding = holding}}, true);
}

}  // namespace

TEST_CASE("metrics: a held lock has all values, below one heading for each metric") {
  Holding holding = held();
  holding.waiting = 3;
  CHECK(metrics_of(holding) ==
        "# HELP dlock_up 1 if the locks could be read, otherwise 0.\n"
        "# TYPE dlock_up gauge\n"
        "dlock_up 1\n"
        "# HELP dlock_held 1 if a run holds the lock, 0 if it is only kept or frozen.\n"
        "# TYPE dlock_held gauge\n"
        "dlock_held{lock=\"n\"} 1\n"
        "# HELP dlock_holders How many runs hold the lock at once.\n"
        "# TYPE dlock_holders gauge\n"
        "dlock_holders{lock=\"n\"} 1\n"
        "# HELP dlock_waiters How many runs wait for the lock.\n"
        "# TYPE dlock_waiters gauge\n"
        "dlock_waiters{lock=\"n\"} 3\n"
        "# HELP dlock_frozen 1 if the lock is frozen (dlock freeze), otherwise 0.\n"
        "# TYPE dlock_frozen gauge\n"
        "dlock_frozen{lock=\"n\"} 0\n"
        "# HELP dlock_hold_age_seconds For how long the oldest holder has held it.\n"
        "# TYPE dlock_hold_age_seconds gauge\n"
        "dlock_hold_age_seconds{lock=\"n\"} 130.000\n"
        "# HELP dlock_lease_left_seconds When the lease ends unless it is renewed.\n"
        "# TYPE dlock_lease_left_seconds gauge\n"
        "dlock_lease_left_seconds{lock=\"n\"} 21.000\n");
}

TEST_CASE("metrics: what is not known has no value") {
  Holding holding = held();
  holding.holds.clear();
  holding.lease_left = {};
  const std::string text = metrics_of(holding);
  CHECK(has(text, "dlock_held{lock=\"n\"} 1"));
  CHECK_FALSE(has(text, "dlock_hold_age_seconds{"));
  CHECK_FALSE(has(text, "dlock_lease_left_seconds{"));
  holding.lease_left = LeaseLeft::never();
  CHECK(has(metrics_of(holding), "dlock_lease_left_seconds{lock=\"n\"} +Inf"));
}

TEST_CASE("metrics: a lock that is only kept is not held") {
  Holding holding = held();
  holding.holds.front().kept = true;
  const std::string text = metrics_of(holding);
  CHECK(has(text, "dlock_held{lock=\"n\"} 0"));
  CHECK(has(text, "dlock_holders{lock=\"n\"} 0"));
  CHECK_FALSE(has(text, "dlock_hold_age_seconds{"));
}

TEST_CASE("metrics: a frozen lock says so, whether a run holds it or not") {
  Holding holding = held();
  holding.frozen = Freeze{.left = 10s};
  CHECK(has(metrics_of(holding), "dlock_frozen{lock=\"n\"} 1"));
  CHECK(has(metrics_of(holding), "dlock_held{lock=\"n\"} 1"));
  holding.holds.front().kept = true;
  CHECK(has(metrics_of(holding), "dlock_held{lock=\"n\"} 0"));
}

TEST_CASE("metrics: a name cannot leave its label") {
  CHECK(has(metrics_of(held(), "a\"} 9\\"), R"(dlock_held{lock="a\"} 9\\"} 1)"));
  CHECK(has(metrics_of(held(), "\xC3\xA9"), "{lock=\"\xC3\xA9\"}"));
  // The format allows UTF-8 only.
  CHECK(has(metrics_of(held(), "\xFF"), R"({lock="%ff",encoding="percent"})"));
  CHECK(is_utf8(metrics_of(held(), "\xFF")));
}

TEST_CASE("metrics: a store without a line does not know who waits") {
  const std::string text = lock_metrics({{.name = "n", .key = "k", .holding = held()}}, false);
  CHECK(has(text, "dlock_held{lock=\"n\"} 1"));
  CHECK_FALSE(has(text, "dlock_waiters"));
}

TEST_CASE("metrics: without the store, dlock_up alone tells it") {
  CHECK(has(metrics_without_store(), "\ndlock_up 0\n"));
}

}  // namespace dlock
