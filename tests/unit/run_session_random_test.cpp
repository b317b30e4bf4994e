// SPDX-License-Identifier: MIT
// Two thousand seeded runs in a hostile world. The World checks the promises of run_session.hpp at
// every step; a seed that fails is a test case of its own.
#include "base/text.hpp"
#include "core/backoff.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "support/scripted_world.hpp"
#include "support/world_words.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::Script;
using test::Trouble;
using test::World;

namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed * 7919 + 17) {}
  Duration between(Duration least, Duration most) { return stream_.between(least, most); }
  int up_to(int most) {
    return static_cast<int>(stream_.between(Duration(0), Duration(most)).count());
  }
  bool one_in(int n) { return up_to(n - 1) == 0; }
  // Mostly short, sometimes long.
  Duration span(Duration longest) { return between(0ms, one_in(3) ? longest : longest / 20); }
  std::optional<Duration> maybe_never(Duration longest) {
    if (one_in(4)) return {};
    return span(longest);
  }

 private:
  Jitter stream_;
};

Trouble random_trouble(Dice& dice, Duration ttl) {
  Trouble trouble;
  trouble.from = dice.one_in(3) ? 0s : dice.between(0s, 3 * ttl);
  trouble.until = trouble.from + dice.span(3 * ttl);
  trouble.kind = static_cast<Trouble::Kind>(dice.up_to(3));
  trouble.delay = dice.span(ttl);
  trouble.code = static_cast<Errc>(dice.up_to(static_cast<int>(Errc::system)));
  if (dice.one_in(2)) trouble.only = static_cast<test::What>(dice.up_to(8));
  return trouble;
}

// Adds a line in which our place moves up now and then.
void add_line(Script& script, Dice& dice) {
  std::uint64_t place = static_cast<std::uint64_t>(dice.up_to(4)) + 1;
  script.waiting_behind = static_cast<std::uint64_t>(dice.up_to(3));
  if (dice.one_in(4)) script.max_waiters = dice.up_to(8);
  for (Duration from = 0s; place > 0; from += dice.span(20s))
    script.places.emplace_back(from, place--);
}

void add_limits(Script& script, Dice& dice) {
  script.renew = !dice.one_in(6);
  script.contain = dice.one_in(6);
  if (dice.one_in(4)) script.max_hold = dice.between(1ms, 3 * script.ttl);
  if (dice.one_in(4)) script.min_hold = dice.between(1ms, 3 * script.ttl);
  if (dice.one_in(4)) script.names = {"a", "b"};
  if (dice.one_in(8)) script.done_from = dice.span(30s);
}

Script random_script(std::uint64_t seed) {
  Dice dice(seed);
  Script script;
  script.seed = seed;
  script.ttl = dice.between(1s, 30s);
  script.kill_after.reset();
  if (dice.one_in(2)) script.kill_after = dice.between(1ms, script.ttl / 3);
  if (dice.one_in(3)) script.wait = dice.one_in(3) ? 0s : dice.span(60s);
  script.connect_timeout = dice.between(100ms, 10s);
  script.outage_limit = dice.between(1s, 30s);
  if (dice.one_in(8)) script.on_lost = OnLost::warn;
  if (dice.one_in(8)) script.stop_signal = SIGUSR1;
  add_limits(script, dice);
  if (dice.one_in(2)) script.free_from = dice.span(30s);
  if (dice.one_in(4)) script.lease_ends = dice.span(30s);
  if (dice.one_in(8)) script.refusal.holding.kind = Holding::Kind::foreign;
  if (dice.one_in(8)) script.watch_error = Error{Errc::denied, "no"};
  script.news = dice.one_in(2);
  if (dice.one_in(8)) script.untracked_because = "no";
  if (dice.one_in(2)) add_line(script, dice);
  if (dice.one_in(2)) script.hand_offs = {{script.free_from.value_or(0s)}};
  while (!dice.one_in(3))
    script.hand_offs.push_back({dice.span(5 * script.ttl), static_cast<HandOff>(dice.up_to(2))});
  std::sort(script.hand_offs.begin(), script.hand_offs.end(), [](const auto& a, const auto& b) {
    return a.when < b.when;
  });
  if (dice.one_in(8)) script.lost_from = dice.span(3 * script.ttl);
  if (dice.one_in(8)) script.revoked_from = dice.span(3 * script.ttl);
  script.latency = dice.between(1us, 50ms);
  while (!dice.one_in(2))
    script.troubles.push_back(random_trouble(dice, script.ttl));
  script.grant_despite_cancel = dice.one_in(2);
  script.cannot_start = dice.one_in(20);
  if (!dice.one_in(3)) script.runs_for = dice.span(5 * script.ttl);
  script.term_takes = dice.maybe_never(2 * script.ttl);
  script.kill_takes = dice.one_in(4) ? dice.span(10s) : 0ms;
  script.leaves_group = dice.one_in(4);
  script.group_term_takes = dice.maybe_never(2 * script.ttl);
  script.group_kill_takes = dice.span(5s);
  while (dice.one_in(2)) {
    constexpr std::array k_signals{SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    script.signals.emplace_back(dice.span(3 * script.ttl),
                                k_signals.at(std::size_t(dice.up_to(3))));
  }
  return script;
}

// Returns the longest time without a request from the waiter, as the store sees it; zero if the
// store could not hear it.
Duration longest_silence(const Script& script, const World& world) {
  if (!script.troubles.empty()) return {};
  Duration longest{};
  std::optional<Duration> last;
  for (const auto& [ask, when] : world.asks()) {
    if (ask.what != test::What::acquire || ask.queueing == Queueing::no) continue;
    longest = std::max(longest, when - last.value_or(when));
    last = when;
  }
  return longest;
}

}  // namespace

TEST_CASE("whatever happens, in whatever order, the promises are kept") {
  int started = 0;
  int lost = 0;
  int time_up = 0;
  int given_up = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    const Script script = random_script(seed);
    World world(script);
    const std::string transcript = shortened(world.run(10min), 2000);
    CAPTURE(transcript);
    REQUIRE(world.violations() == std::vector<std::string>{});
    REQUIRE(longest_silence(script, world) <= 3s + 4 * script.latency);
    if (!world.outcome()) continue;  // a child that never ends, undisturbed
    started += world.child_started() ? 1 : 0;
    lost += world.outcome()->kind == Outcome::Kind::lost ? 1 : 0;
    time_up += world.outcome()->kind == Outcome::Kind::time_up ? 1 : 0;
    given_up += world.child_started() ? 0 : 1;
  }
  // The worlds are neither all kind nor all hostile.
  CHECK(started > 300);
  CHECK(lost > 50);
  CHECK(time_up > 50);
  CHECK(given_up > 100);
}

TEST_CASE("C06: a suspended machine that wakes up late kills before it does anything else") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    Script script;
    script.seed = seed;
    script.ttl = dice.between(1s, 30s);
    script.kill_after.reset();
    script.latency = dice.between(1us, 5ms);
    const Duration from = dice.between(10ms, 2 * script.ttl);
    script.frozen = {{from, from + dice.between(2 * script.ttl, 4 * script.ttl)}};
    World world(script);
    const std::string transcript = world.run();
    CAPTURE(transcript);
    const std::string woken = test::seconds_text(script.frozen->second);
    const auto kill = transcript.find(woken + " KILL");
    REQUIRE(kill != std::string::npos);
    // The KILL is the first thing that dlock does after the freeze.
    REQUIRE(transcript.find(", " + woken + " ") + 2 == kill);
    REQUIRE(world.outcome()->kind == Outcome::Kind::lost);
    REQUIRE(world.violations() == std::vector<std::string>{});
  }
}

}  // namespace dlock
