// SPDX-License-Identifier: MIT
// A whole run without Redis: session, store thread, signals, timer and real children, over a
// MemoryStore. Each run has a process of its own (forked.hpp).
#include "app/runner.hpp"

#include "base/text.hpp"
#include "sys/forked.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "support/has.hpp"
#include "support/memory_store.hpp"
#include "support/temp_dir.hpp"
#include "support/world_words.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::forked;
using test::has;
using test::TempDir;

namespace {

class Notes final : public RunListener {
 public:
  void on_notice(const Notice& notice) override {
    using Kind = Notice::Kind;
    const bool usual = notice.kind == Kind::signalled || notice.kind == Kind::passed_on ||
                       notice.kind == Kind::ended || notice.kind == Kind::released ||
                       notice.kind == Kind::waiting;  // only said after a second
    if (!usual) seen.insert(test::word_for(notice.kind));
  }
  void on_started(pid_t /*child*/) override {}
  void on_stopped(Time /*safe_until*/, Duration /*left*/) override { seen.insert("stopped"); }
  void on_left_stopped() override { seen.insert("left stopped"); }
  void on_guard(const std::string& /*what*/) override { seen.insert("guard"); }
  std::set<std::string> seen;
};

struct Plan {
  std::vector<std::string> words;
  std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  Duration ttl = 30s;
  std::optional<Duration> kill_after;
  std::optional<Duration> wait;
  std::vector<std::string> names{"n"};
  Mode mode = Mode::plain;
  std::uint32_t slots = 0;
  Duration min_hold{};
  Duration max_hold{};
};

Plan shell(const std::string& script) {
  return {.words = {"/bin/sh", "-c", script}};
}

Claim claim(const std::string& owner, Duration ttl = 30s) {
  return {.names = {*LockName::parse("n")}, .owner = owner, .serial = "s", .ttl = ttl, .who = {}};
}

Time within_limit() {
  return BootClock::now() + 5s;
}

// Another client of the same server, in a thread of its own.
class OtherClient {
 public:
  OtherClient(std::shared_ptr<MemoryServer> server,
              bool holds,
              const std::function<void(MemoryStore&)>& act)
      : store_(std::move(server)) {
    if (holds) (void)store_.acquire(claim("them:2"), Queueing::no, within_limit());
    if (act) thread_ = std::thread([this, act] { act(store_); });
  }
  OtherClient(const OtherClient&) = delete;
  OtherClient& operator=(const OtherClient&) = delete;
  ~OtherClient() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  bool sees_it_free() {
    return store_.inspect(*LockName::parse("n"), within_limit())->kind == Holding::Kind::none;
  }

 private:
  MemoryStore store_;
  std::thread thread_;
};

Claim claim_of(const Plan& plan) {
  Claim ours = claim("us:1", plan.ttl);
  ours.names.clear();
  for (const std::string& name : plan.names)
    ours.names.push_back(*LockName::parse(name));
  ours.mode = plan.mode;
  ours.slots = plan.slots;
  return ours;
}

std::string run_here(const Plan& plan, const std::function<void(MemoryStore&)>& beside) {
  auto signals = Signals::take_over();
  auto child = Child::prepare();
  const auto server = std::make_shared<MemoryServer>();
  InterruptSlot interrupt;
  StoreWorker worker(std::make_unique<MemoryStore>(server, &interrupt), claim_of(plan), interrupt);
  Notes notes;
  const RunTerms terms{.lease = *LeaseTerms::check(plan.ttl, plan.kill_after),
                       .acquire = {.wait = plan.wait, .connect_timeout = 5s, .outage_limit = 30s},
                       .min_hold = plan.min_hold,
                       .max_hold = plan.max_hold};
  OtherClient other(server, plan.wait.has_value(), beside);
  Runner runner({.words = plan.words,
                 .environment = plan.environment,
                 .store = "memory:",
                 .names = claim_of(plan).names,
                 .keys = plan.names},
                RunSession(terms, 1, BootClock::now()),
                worker,
                *signals,
                std::move(*child),
                notes);
  const auto outcome = runner.run();
  other.join();
  if (!outcome) return outcome.error().text;
  std::string text = test::outcome_text(*outcome);
  for (const std::string& word : notes.seen)
    text += ", " + word;
  return text + (other.sees_it_free() ? ", free" : ", held");
}

// Returns the outcome of the run, its notices, and whether the lock is free afterwards. `beside` is
// run by another client; if the plan waits, that client holds the lock before.
std::string run(const Plan& plan, const std::function<void(MemoryStore&)>& beside = {}) {
  return forked([&] { return run_here(plan, beside); });
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

// Returns the value of a variable in the output of env(1).
std::string value_of(const std::string& env, const std::string& name) {
  const auto at = env.find("\n" + name + "=");
  REQUIRE(at != std::string::npos);
  const auto from = at + name.size() + 2;
  return env.substr(from, env.find('\n', from) - from);
}

}  // namespace

TEST_CASE("run: the status of the command is the outcome, the lock is free after it") {
  CHECK(run(shell("exit 0")) == "exit 0, granted, free");
  CHECK(run(shell("exit 7")) == "exit 7, granted, free");
  CHECK(run(shell("kill -USR1 $$")) == "exit by USR1, granted, free");
}

TEST_CASE("run: a command that does not exist releases the lock") {
  CHECK(run({.words = {"no-such-command-here"}}) == "exit not started, granted, free");
}

TEST_CASE("run: the lease is renewed while the command runs") {
  Plan plan = shell("sleep 8; exit 3");  // a guard that is not told has killed it long before
  plan.ttl = 6s;
  plan.kill_after = 200ms;  // time enough for a machine that stands still for some seconds
  CHECK(run(plan) == "exit 3, granted, renewed, free");
}

TEST_CASE("run: the environment of the command names its lock, and overrides inherited values") {
  const TempDir dir;
  Plan plan = shell("env > " + dir.path() + "/env");
  plan.environment = {"PATH=/usr/bin:/bin",
                      "KEEP=a b",
                      "DLOCK_TOKEN=1",
                      "DLOCK_NAME=other",
                      "DLOCK_HOLDS=redis%3A%2F%2Fh|k|o%3A1|s",
                      "DLOCK_TTL=9s"};
  CHECK(run(plan) == "exit 0, granted, free");
  const std::string env = "\n" + contents(dir.path() + "/env");
  CHECK(has(env, "\nKEEP=a b\n"));
  CHECK(has(env, "\nDLOCK_TTL=9s\n"));
  CHECK(has(env, "\nDLOCK_HELD=1\n"));
  CHECK(has(env, "\nDLOCK_NAME=n\n"));
  CHECK(has(env, "\nDLOCK_OWNER=us:1\n"));
  CHECK(has(env, "\nDLOCK_TTL_MS=30000\n"));
  CHECK(has(env, "\nDLOCK_TOKEN="));
  CHECK_FALSE(has(env, "\nDLOCK_TOKEN=1\n"));
  const auto holds = parse_holds(value_of(env, "DLOCK_HOLDS"));
  REQUIRE(holds.size() == 2);
  CHECK(holds.front().owner == "o:1");
  CHECK(holds.back() == AncestorHold{"memory:", "n", "us:1", "s"});
}

TEST_CASE("run: a command under several names gets lists, and nested runs know each hold") {
  const TempDir dir;
  Plan plan = shell("env > " + dir.path() + "/env");
  plan.names = {"n", "b%1 x"};
  CHECK(run(plan) == "exit 0, granted, free");
  const std::string env = "\n" + contents(dir.path() + "/env");
  CHECK(has(env, "\nDLOCK_NAME=n b%251%20x\n"));
  CHECK(has(env, "\nDLOCK_OWNER=us:1 us:1\n"));
  CHECK(has(env, "\nDLOCK_MODE=plain\n"));
  CHECK_FALSE(has(env, "\nDLOCK_SLOT="));
  const auto tokens = split(value_of(env, "DLOCK_TOKEN"), ' ');
  CHECK(tokens.size() == 2);
  const auto holds = parse_holds(value_of(env, "DLOCK_HOLDS"));
  REQUIRE(holds.size() == 2);
  CHECK(holds.front() == AncestorHold{"memory:", "n", "us:1", "s"});
  CHECK(holds.back() == AncestorHold{"memory:", "b%1 x", "us:1", "s"});
}

TEST_CASE("run: the environment of the command has its own mode, not that of the run above") {
  const TempDir dir;
  Plan plan = shell("env > " + dir.path() + "/env");
  plan.environment = {"PATH=/usr/bin:/bin", "DLOCK_SLOT=7", "DLOCK_MODE=slots"};
  CHECK(run(plan) == "exit 0, granted, free");
  std::string env = "\n" + contents(dir.path() + "/env");
  CHECK(value_of(env, "DLOCK_MODE") == "plain");
  CHECK_FALSE(has(env, "\nDLOCK_SLOT="));
  plan.mode = Mode::slots;
  plan.slots = 3;
  plan.names = {"n", "m"};
  CHECK(run(plan) == "exit 0, granted, free");
  env = "\n" + contents(dir.path() + "/env");
  CHECK(value_of(env, "DLOCK_MODE") == "slots");
  CHECK(value_of(env, "DLOCK_SLOT") == "0 0");
}

TEST_CASE("run: a command whose time is up is stopped, and its lock is free") {
  Plan plan = shell("exec sleep 20");
  plan.max_hold = 100ms;
  CHECK(run(plan) == "exit time_up, granted, time_up, free");
}

TEST_CASE("run: a lock is kept for the rest of its shortest time, not waited for") {
  Plan plan = shell("exit 3");
  plan.min_hold = 1h;
  CHECK(run(plan) == "exit 3, granted, held");
}

TEST_CASE("run: a TERM for dlock ends the command, and the lock is released after it") {
  // The shell's parent is the process that runs us.
  CHECK(run(shell("kill -TERM $PPID; exec sleep 20")) == "exit by TERM, granted, free");
  CHECK(run(shell("trap 'exit 9' TERM; kill -TERM $PPID; while :; do sleep 0.02; done")) ==
        "exit 9, granted, free");
}

TEST_CASE("run: a command that ignores TERM is killed after kill-after") {
  Plan plan = shell("trap '' TERM; kill -TERM $PPID; while :; do sleep 0.02; done");
  plan.kill_after = 200ms;
  const std::string text = run(plan);
  CHECK(has(text, "exit by KILL"));
  CHECK(has(text, "killed"));
  CHECK(has(text, "free"));
}

TEST_CASE("run: other signals reach the command and do not end dlock") {
  CHECK(run(shell("trap 'exit 5' USR2; kill -USR2 $PPID; while :; do sleep 0.02; done")) ==
        "exit 5, granted, free");
}

TEST_CASE("run: what the command leaves behind is stopped before the lock is released") {
  CHECK(run(shell("sleep 60 & exit 3")) == "exit 3, granted, leftovers, free");
  const TempDir dir;
  const std::string deaf = dir.path() + "/deaf";
  const std::string stubborn =
      run(shell("(trap '' TERM; touch " + deaf + "; while :; do sleep 0.02; done) & until [ -e " +
                deaf + " ]; do sleep 0.02; done; exit 3"));
  CHECK(stubborn == "exit 3, granted, killed, leftovers, free");
}

TEST_CASE("run: the command is stopped when its lock is deleted") {
  Plan plan = shell("exec sleep 20");
  CHECK(run(plan, [](MemoryStore& other) {
          while (other.inspect(*LockName::parse("n"), within_limit())->kind == Holding::Kind::none)
            std::this_thread::sleep_for(2ms);
          (void)other.revoke(*LockName::parse("n"), {.by = "ann@h", .now = true}, within_limit());
        }) == "exit lost, granted, lost, free");
}

TEST_CASE("run: the command is stopped and the lock released when it is revoked") {
  Plan plan = shell("exec sleep 20");
  CHECK(run(plan, [](MemoryStore& other) {
          while (other.inspect(*LockName::parse("n"), within_limit())->kind == Holding::Kind::none)
            std::this_thread::sleep_for(2ms);
          (void)other.revoke(*LockName::parse("n"), {.by = "ann@h"}, within_limit());
        }) == "exit lost, granted, revoked, free");
}

TEST_CASE("run: for a busy lock -n fails at once, and -w waits") {
  Plan plan = shell("exit 4");
  plan.wait = 0s;
  CHECK(run(plan, [](MemoryStore&) {}) == "exit busy, held");
  plan.wait = 10s;
  CHECK(run(plan, [](MemoryStore& other) {
          std::this_thread::sleep_for(100ms);
          const auto again = other.acquire(claim("them:2"), Queueing::no, within_limit());
          (void)other.release(std::get<Grant>(*again).holds, {}, within_limit());
        }) == "exit 4, granted, free");
}

TEST_CASE("run: a signal during the wait ends dlock, and the command is not started") {
  const TempDir dir;
  Plan plan = shell("touch " + dir.path() + "/started");
  plan.wait = 30s;
  CHECK(run(plan, [](MemoryStore&) {
          std::this_thread::sleep_for(100ms);
          ::kill(::getpid(), SIGTERM);
        }) == "exit by own TERM, held");
  CHECK_FALSE(std::ifstream(dir.path() + "/started").good());
}

}  // namespace dlock
