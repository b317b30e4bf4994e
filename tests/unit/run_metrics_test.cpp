// SPDX-License-Identifier: MIT
// What a run adds to the metrics of its lock.
#include "cmd/run_metrics.hpp"

#include "base/text.hpp"

#include <doctest/doctest.h>

#include "support/has.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;

namespace {

RunFigures success() {
  return {.outcome = "child",
          .exit_status = 0,
          .ran = true,
          .succeeded = true,
          .ended_ms = 1795000000123,
          .waited = 1500ms,
          .held = 2min};
}

RunFigures without_a_run(const std::string& outcome, int exit_status) {
  return {.outcome = outcome, .exit_status = exit_status, .ended_ms = 1795000060000};
}

}  // namespace

TEST_CASE("run metrics: the first run makes the whole file") {
  CHECK(run_metrics("", "a", success()) ==
        "# HELP dlock_runs_total Runs that ended, by outcome.\n"
        "# TYPE dlock_runs_total counter\n"
        "dlock_runs_total{lock=\"a\",outcome=\"child\"} 1\n"
        "dlock_runs_total{lock=\"a\",outcome=\"busy\"} 0\n"
        "dlock_runs_total{lock=\"a\",outcome=\"superseded\"} 0\n"
        "dlock_runs_total{lock=\"a\",outcome=\"done\"} 0\n"
        "dlock_runs_total{lock=\"a\",outcome=\"failed\"} 0\n"
        "dlock_runs_total{lock=\"a\",outcome=\"lost\"} 0\n"
        "dlock_runs_total{lock=\"a\",outcome=\"time_up\"} 0\n"
        "dlock_runs_total{lock=\"a\",outcome=\"signalled\"} 0\n"
        "dlock_runs_total{lock=\"a\",outcome=\"unavailable\"} 0\n"
        "dlock_runs_total{lock=\"a\",outcome=\"unlocked\"} 0\n"
        "# HELP dlock_last_run_timestamp_seconds When the last run ended.\n"
        "# TYPE dlock_last_run_timestamp_seconds gauge\n"
        "dlock_last_run_timestamp_seconds{lock=\"a\"} 1795000000.123\n"
        "# HELP dlock_last_exit_status The exit status of the last run.\n"
        "# TYPE dlock_last_exit_status gauge\n"
        "dlock_last_exit_status{lock=\"a\"} 0\n"
        "# HELP dlock_last_wait_seconds How long the last run waited for the lock.\n"
        "# TYPE dlock_last_wait_seconds gauge\n"
        "dlock_last_wait_seconds{lock=\"a\"} 1.500\n"
        "# HELP dlock_last_hold_seconds How long the last run held the lock.\n"
        "# TYPE dlock_last_hold_seconds gauge\n"
        "dlock_last_hold_seconds{lock=\"a\"} 120.000\n"
        "# HELP dlock_last_success_timestamp_seconds When the last run that succeeded ended.\n"
        "# TYPE dlock_last_success_timestamp_seconds gauge\n"
        "dlock_last_success_timestamp_seconds{lock=\"a\"} 1795000000.123\n");
}

TEST_CASE(
    "run metrics: runs are added to those before; a busy lock leaves the last run as it was") {
  const std::string one = run_metrics("", "a", success());
  const std::string two = run_metrics(one, "a", without_a_run("busy", 75));
  CHECK(has(two, "{lock=\"a\",outcome=\"child\"} 1\n"));
  CHECK(has(two, "{lock=\"a\",outcome=\"busy\"} 1\n"));
  CHECK(has(two, "dlock_last_exit_status{lock=\"a\"} 0\n"));
  CHECK(has(two, "dlock_last_run_timestamp_seconds{lock=\"a\"} 1795000000.123\n"));
  const std::string three = run_metrics(two, "a", without_a_run("busy", 75));
  CHECK(has(three, "{lock=\"a\",outcome=\"busy\"} 2\n"));
}

TEST_CASE("run metrics: a run that fails leaves the last success as it was") {
  RunFigures failure = success();
  failure.exit_status = 3;
  failure.succeeded = false;
  failure.ended_ms = 1795000060000;
  const std::string text = run_metrics(run_metrics("", "a", success()), "a", failure);
  CHECK(has(text, "{lock=\"a\",outcome=\"child\"} 2\n"));
  CHECK(has(text, "dlock_last_exit_status{lock=\"a\"} 3\n"));
  CHECK(has(text, "dlock_last_run_timestamp_seconds{lock=\"a\"} 1795000060.000\n"));
  CHECK(has(text, "dlock_last_success_timestamp_seconds{lock=\"a\"} 1795000000.123\n"));
  // Without a success there is no such metric: 0 would be one in 1970.
  CHECK_FALSE(has(run_metrics("", "a", failure), "dlock_last_success"));
}

TEST_CASE("run metrics: a file that is not dlock's counts as empty") {
  for (const std::string_view before : {"",
                                        "\n\n",
                                        " ",
                                        "x",
                                        "dlock_runs_total",
                                        "a b c\n\xFF\n",
                                        "dlock_runs_total{lock=\"a\",outcome=\"child\"} x\n",
                                        "dlock_runs_total{lock=\"b\",outcome=\"child\"} 7\n"})
    CHECK(run_metrics(before, "a", success()) == run_metrics("", "a", success()));
}

TEST_CASE("run metrics: a name cannot leave its label") {
  const std::string name = "a\"} 9\\";
  const std::string text = run_metrics(run_metrics("", name, success()), name, success());
  CHECK(has(text, R"(dlock_runs_total{lock="a\"} 9\\",outcome="child"} 2)"));
  CHECK(is_utf8(run_metrics("", "\xFF", success())));
}

}  // namespace dlock
