// SPDX-License-Identifier: MIT
#include "core/lease.hpp"

#include "base/duration.hpp"

#include <doctest/doctest.h>

namespace dlock {

using namespace std::chrono_literals;

TEST_CASE("terms: the margins of a lease") {
  struct Row {
    Duration ttl, drift, kill_time, kill_after, renew_step, call_limit, first_retry;
  };
  for (const Row& row : {Row{1s, 20ms, 100ms, Duration(1s) / 3, Duration(1s) / 3, 100ms, 100ms},
                         Row{3s, 40ms, 100ms, 1s, 1s, 300ms, 100ms},
                         Row{30s, 310ms, 300ms, 10s, 10s, 3s, 100ms},
                         Row{60s, 610ms, 600ms, 10s, 20s, 5s, 100ms},
                         Row{1h, 36010ms, 36s, 10s, 20min, 5s, 100ms}}) {
    CAPTURE(format_duration(row.ttl));
    const auto terms = LeaseTerms::check(row.ttl, {});
    REQUIRE(terms.has_value());
    CHECK(terms->ttl() == row.ttl);
    CHECK(terms->drift() == row.drift);
    CHECK(terms->kill_time() == row.kill_time);
    CHECK(terms->kill_after() >= row.kill_after);
    CHECK(terms->kill_after() <= row.kill_after + 1us);
    CHECK(terms->renew_step() >= row.renew_step);
    CHECK(terms->renew_step() <= row.renew_step + 1us);
    CHECK(terms->call_limit() == row.call_limit);
    CHECK(terms->first_retry() == row.first_retry);
  }
}

TEST_CASE("terms: a nested run has three quarters of the default kill-after for each one above") {
  const auto default_of = [](Duration ttl, std::size_t nesting) {
    return LeaseTerms::check(ttl, {}, nesting)->kill_after();
  };
  CHECK(default_of(30s, 0) == 10s);
  CHECK(default_of(30s, 1) == 7500ms);
  CHECK(default_of(30s, 2) == 5625ms);
  CHECK(default_of(3s, 1) == 750ms);
  CHECK(LeaseTerms::check(30s, 4s, 2)->kill_after() == 4s);  // one that was given stays
}

TEST_CASE("terms: a ttl that is no lease is refused") {
  for (const Duration ttl : {Duration(0), Duration(999ms), Duration(-1s), Duration(24h * 366)}) {
    CAPTURE(format_duration(ttl));
    const auto terms = LeaseTerms::check(ttl, {});
    REQUIRE_FALSE(terms.has_value());
    CHECK(terms.error().code == Errc::bad_usage);
    CHECK(terms.error().text == "ttl " + format_duration(ttl) + " is not between 1s and 365d");
  }
  CHECK(LeaseTerms::check(1s, {}).has_value());
  CHECK(LeaseTerms::check(24h * 365, {}).has_value());
}

TEST_CASE("terms: times that do not fit into the lease are refused with their sum") {
  // 30 s - 310 ms - 300 ms - 10 s - 3 s
  CHECK(LeaseTerms::check(30s, 16390ms).has_value());
  const auto terms = LeaseTerms::check(30s, 16391ms);
  REQUIRE_FALSE(terms.has_value());
  CHECK(terms.error().code == Errc::bad_usage);
  CHECK(terms.error().text ==
        "kill-after 16.3s does not fit into ttl 30s: after margins of 610ms and 13s to renew, at "
        "most 16.3s is left; lengthen ttl or shorten kill-after");
  CHECK_FALSE(LeaseTerms::check(1s, 1s).has_value());
  CHECK_FALSE(LeaseTerms::check(30s, 24h * 3650).has_value());
}

TEST_CASE("terms: the error names a kill-after that would be accepted") {
  for (const Duration ttl : {Duration(1s), Duration(7s), Duration(30s), Duration(10min)}) {
    CAPTURE(format_duration(ttl));
    const auto terms = LeaseTerms::check(ttl, ttl);
    REQUIRE_FALSE(terms.has_value());
    const std::string& text = terms.error().text;
    const std::size_t from = text.find("at most ") + 8;
    const auto most = parse_duration(text.substr(from, text.find(' ', from) - from));
    REQUIRE(most.has_value());
    CHECK(LeaseTerms::check(ttl, *most).has_value());
  }
}

TEST_CASE("terms: a renewal and one repetition always fit before TERM") {
  for (Duration ttl = 1s; ttl < 2h; ttl = ttl * 5 / 4) {
    CAPTURE(format_duration(ttl));
    const auto terms = LeaseTerms::check(ttl, {});
    REQUIRE(terms.has_value());
    const LeaseClock clock(*terms, Time(1000s));
    CHECK(clock.renew_at() + terms->call_limit() <= clock.term_at());
    CHECK(clock.term_at() < clock.kill_at());
    CHECK(clock.kill_at() < clock.safe_until());
    CHECK(clock.safe_until() < Time(1000s) + ttl);
  }
}

TEST_CASE("clock: every deadline counts from the time when the request was sent") {
  const auto terms = LeaseTerms::check(30s, 10s);
  const Time s(1000s);
  const LeaseClock clock(*terms, s);
  CHECK(clock.renew_at() == s + 10s);
  CHECK(clock.safe_until() == s + 29690ms);
  CHECK(clock.kill_at() == s + 29390ms);
  CHECK(clock.term_at() == s + 19390ms);
}

TEST_CASE("clock: a confirmation never moves a deadline back") {
  const auto terms = LeaseTerms::check(30s, 10s);
  const Time s(1000s);
  LeaseClock clock(*terms, s);
  clock.confirm(s + 10s);
  CHECK(clock.renew_at() == s + 20s);
  clock.confirm(s + 5s);  // a late answer to an older request
  CHECK(clock.renew_at() == s + 20s);
}

TEST_CASE("clock: the start rule leaves one renewal interval before TERM") {
  const auto terms = LeaseTerms::check(30s, 10s);
  const Time s(1000s);
  const LeaseClock clock(*terms, s);
  CHECK(clock.may_start(s));
  CHECK(clock.may_start(s + 9390ms));
  CHECK_FALSE(clock.may_start(s + 9390ms + 1ns));
}

}  // namespace dlock
