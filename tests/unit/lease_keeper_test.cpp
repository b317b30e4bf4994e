// SPDX-License-Identifier: MIT
#include "core/lease_keeper.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace dlock {

using namespace std::chrono_literals;

namespace {

using What = action::Ask::What;

const Time k_start = Time(1000s);

LeaseKeeper make_keeper(const KeepTerms& terms) {
  return {terms, k_start, k_start};
}
LeaseTerms lease_of(Duration ttl) {
  return *LeaseTerms::check(ttl, Duration::zero());
}
Result<RenewReply> renewed(Time sent_at) {
  return RenewReply{.verdict = RenewVerdict::renewed, .sent_at = sent_at};
}

}  // namespace

TEST_CASE("keeper: renewals come at a fixed interval, counted from the last send") {
  auto keeper = make_keeper({.lease = lease_of(30s), .watch = false, .every = 4s});
  CHECK(keeper.next_deadline() == k_start + 4s);
  const KeepStep step = keeper.on_time(k_start + 4s);
  REQUIRE(step.ask);
  CHECK(step.ask->what == What::renew);
  CHECK(step.ask->limit == k_start + 4s + lease_of(30s).call_limit());
  CHECK_FALSE(keeper.next_deadline());  // one question at a time
  keeper.on_renewed(renewed(k_start + 4s), k_start + 5s);
  CHECK(keeper.next_deadline() == k_start + 8s);
}

TEST_CASE("keeper: a hold without all its parts is watched early, as they come meanwhile") {
  for (const bool complete : {true, false}) {
    auto keeper = make_keeper({.lease = lease_of(30s), .complete = complete});
    const Time at = k_start + (complete ? 1000ms : 100ms);
    CHECK(keeper.next_deadline() == at);
    const KeepStep step = keeper.on_time(at);
    REQUIRE(step.ask);
    CHECK(step.ask->what == What::watch_hold);
  }
}

TEST_CASE("keeper: a renewal without an answer is repeated after doubling pauses") {
  auto keeper = make_keeper({.lease = lease_of(3s), .watch = false});
  Time now = k_start + 1s;
  std::vector<Duration> pauses;
  for (int i = 0; i < 4; ++i) {
    REQUIRE(keeper.on_time(now).ask);
    CHECK(keeper.on_renewed(Error{Errc::timed_out, "late"}, now).notice);
    CHECK(keeper.trouble() == "late");
    pauses.push_back(*keeper.next_deadline() - now);
    now = *keeper.next_deadline();
  }
  CHECK(pauses == std::vector<Duration>{100ms, 200ms, 300ms, 300ms});
  const Time end = keeper.clock().safe_until();
  CHECK(end == k_start + 3s - lease_of(3s).drift());
}

TEST_CASE("keeper: after a verdict against the hold nothing more is asked") {
  for (const RenewVerdict verdict : {RenewVerdict::revoked, RenewVerdict::lost}) {
    auto keeper = make_keeper({.lease = lease_of(30s)});
    keeper.on_time(k_start + 10s);
    RenewReply reply;
    reply.verdict = verdict;
    CHECK(keeper.on_renewed(reply, k_start + 10s).notice);
    CHECK(keeper.ours() == (verdict == RenewVerdict::revoked));
    CHECK_FALSE(keeper.next_deadline());
    CHECK_FALSE(keeper.on_time(k_start + 20s).ask);
  }
}

TEST_CASE(
    "keeper: after the end of the lease nothing is asked, except for a command that survives "
    "KILL") {
  for (const bool regardless : {false, true}) {
    auto keeper = make_keeper({.lease = lease_of(30s)});
    keeper.check_end(k_start + 31s, regardless);
    CHECK(keeper.on_time(k_start + 31s).ask.has_value() == regardless);
  }
}

TEST_CASE("keeper: another server that confirms the hold is told once, also by a look") {
  using Kind = Notice::Kind;
  for (const RenewVerdict verdict : {RenewVerdict::renewed, RenewVerdict::held}) {
    auto keeper = make_keeper({.lease = lease_of(30s), .watch = false});
    keeper.granted_at("a");
    const auto confirmed_by = [&](const std::string& server) {
      const RenewReply reply{.verdict = verdict, .sent_at = k_start, .at = server};
      const auto notice = keeper.on_renewed(reply, k_start).notice;
      return notice && notice->kind == Kind::moved ? notice->before + " " + notice->text : "";
    };
    CHECK(confirmed_by("a").empty());
    CHECK(confirmed_by("b") == "a b");
    CHECK(confirmed_by("b").empty());
    CHECK(confirmed_by("a") == "b a");
  }
}

TEST_CASE("keeper: a loss names the server that took over without the hold") {
  for (const std::string server : {"a", "b"}) {
    auto keeper = make_keeper({.lease = lease_of(30s), .watch = false});
    keeper.granted_at("a");
    const RenewReply lost{.verdict = RenewVerdict::lost, .sent_at = k_start, .at = server};
    const auto notice = keeper.on_renewed(lost, k_start).notice;
    REQUIRE(notice);
    CHECK(notice->kind == Notice::Kind::lost);
    CHECK(notice->text == (server == "a" ? "" : "b"));
  }
}

}  // namespace dlock
