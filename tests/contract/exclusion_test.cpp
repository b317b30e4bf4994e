// SPDX-License-Identifier: MIT
#include "sys/unique_fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <variant>
#include <vector>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

// A counter that only the lock protects. The atomics give no order and make no step atomic. They
// only prevent reports by the thread sanitizer, which cannot see a lock in another process.
struct Counter {
  explicit Counter(std::size_t steps) : tokens(steps) {}
  std::atomic<std::size_t> value{0};
  std::vector<std::atomic<FencingToken>> tokens;  // the token of each step
};

// One worker: acquires the lock, counts and releases, again and again. Returns whether it was done
// in time. Some stores repeat a step as long as other workers interfere, which may take many
// seconds on a loaded machine, so a step has all the time of the test. No doctest here: this runs
// in a thread of its own.
bool count_under_lock(LockStore& store,
                      const LockName& name,
                      std::size_t rounds,
                      Counter& counter) {
  const Time end = BootClock::now() + 300s;
  for (std::size_t done = 0; done < rounds;) {
    const Claim claim = claim_of(name);
    auto reply = store.acquire(claim, Queueing::no, end);
    if (!reply || BootClock::now() > end) return false;
    if (!std::holds_alternative<Grant>(*reply)) {
      ::poll(nullptr, 0, 1);
      continue;
    }
    const Holds& holds = std::get<Grant>(*reply).holds;
    const std::size_t seen = counter.value.load(std::memory_order_relaxed);
    std::this_thread::yield();
    if (seen < counter.tokens.size()) {
      counter.tokens[seen].store(holds.front().token, std::memory_order_relaxed);
    }
    counter.value.store(seen + 1, std::memory_order_relaxed);
    const auto verdict = store.release(holds, {}, end);
    if (!verdict || *verdict != ReleaseVerdict::released) return false;
    ++done;
  }
  return true;
}

// Runs in a forked process: acquires the lock, reports that through the pipe, and waits to be
// killed.
[[noreturn]] void hold_until_killed(const Backing& backing, const Claim& claim, int pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto store = backing.open(nullptr);
  const auto reply = store->acquire(claim, Queueing::no, soon());
  const char taken = reply && std::holds_alternative<Grant>(*reply) ? 'y' : 'n';
  if (::write(pipe, &taken, 1) == 1) ::poll(nullptr, 0, 60'000);
  ::_exit(1);
}

}  // namespace

TEST_CASE("eight threads that count under the lock lose no step") {
  each_store([](const Backing& backing) {
    constexpr std::size_t k_threads = 8;
    constexpr std::size_t k_rounds = 25;
    const LockName name = fresh_name();
    Counter counter(k_threads * k_rounds);
    std::vector<std::unique_ptr<LockStore>> stores(k_threads);
    for (auto& store : stores)
      store = backing.open(nullptr);
    std::vector<std::thread> threads;
    std::vector<char> ok(k_threads, 0);
    for (std::size_t i = 0; i < stores.size(); ++i) {
      threads.emplace_back(
          [&, i] { ok[i] = count_under_lock(*stores[i], name, k_rounds, counter) ? 1 : 0; });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (const char thread_ok : ok)
      CHECK(thread_ok == 1);
    CHECK(counter.value == k_threads * k_rounds);
    for (std::size_t i = 1; i < counter.tokens.size(); ++i) {
      REQUIRE(counter.tokens[i] > counter.tokens[i - 1]);
    }
  });
}

TEST_CASE("the lock of a killed process is free after its lease, and not before") {
  each_store([](const Backing& backing) {
    if (!backing.across_processes) return;
    Client client(backing);
    const LockName name = fresh_name();
    const Claim theirs = claim_of(name, 1s);
    int ends[2] = {-1, -1};  // NOLINT(modernize-avoid-c-arrays): pipe2(2)
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const UniqueFd from(ends[0]);
    UniqueFd to(ends[1]);
    const Time before = BootClock::now();
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) hold_until_killed(backing, theirs, to.get());
    to.reset();
    char taken = '?';
    CHECK(::read(from.get(), &taken, 1) == 1);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    REQUIRE(taken == 'y');
    client.take_eventually(claim_of(name));
    // Not when it was sent: a request may reach the server later, after the end of the lease.
    CHECK(BootClock::now() + 10ms >= before + 1s);
  });
}

}  // namespace dlock::contract
