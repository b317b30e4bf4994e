// SPDX-License-Identifier: MIT
// Acquirer, if the clock runs on while dlock is stopped. Each test runs in a process of its own
// (forked.hpp), which starts another one that is stopped.
#include "app/acquirer.hpp"

#include "sys/forked.hpp"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/prctl.h>

#include <csignal>

#include "support/one_answer_store.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::forked;

namespace {

constexpr Duration k_ttl = 1s;

// The first answer is busy; the next one is a grant, which comes when the test lets it come.
class LateStore final : public test::OneAnswerStore {
 public:
  LateStore(const Interrupt& interrupt, const bool& granted)
      : interrupt_(interrupt), granted_(granted) {}

  Result<AcquireReply> acquire(const Claim& claim, Queueing, Time /*limit*/) override {
    const Refusal held{.holding = {.kind = Holding::Kind::lock}};
    if (!std::exchange(asked_, true)) return AcquireReply(held);
    while (!granted_) {
      pollfd beside{.fd = interrupt_.fd(), .events = POLLIN, .revents = 0};
      ::poll(&beside, 1, -1);
      if (interrupt_.ends_call()) return Error{Errc::cancelled, "interrupted"};
    }
    const Time sent_at = BootClock::now();
    return AcquireReply(Grant{.holds = {{.name = claim.names.front(),
                                         .owner = claim.owner,
                                         .serial = claim.serial,
                                         .ttl = claim.ttl}},
                              .sent_at = sent_at});
  }
  Result<ReleaseVerdict> release(const Holds&, const ReleaseOptions&, Time) override {
    return ReleaseVerdict::released;
  }

 private:
  Error answer(Time /*limit*/) override { return {Errc::refused, "not here"}; }

  const Interrupt& interrupt_;
  const bool& granted_;
  bool asked_ = false;
};

// Lets the grant come and sends Ctrl-Z while the acquirer waits.
class StopsWithAGrant final : public Listener {
 public:
  explicit StopsWithAGrant(bool& grant) : grant_(grant) {}

  void on_notice(const Notice& notice) override {
    // The notice is about the holder, or about the store, which does not answer meanwhile.
    const bool waits =
        notice.kind == Notice::Kind::waiting || notice.kind == Notice::Kind::store_away;
    if (!waits || std::exchange(grant_, true)) return;
    ::kill(::getpid(), SIGTSTP);
  }

 private:
  bool& grant_;
};

// Returns 0 if the acquirer took the lock, 1 if it released it as too late.
int acquire_and_stop() {
  auto signals = Signals::take_over();
  bool granted = false;
  InterruptSlot interrupt;
  StoreWorker worker(
      std::make_unique<LateStore>(interrupt, granted),
      {.names = {*LockName::parse("n")}, .owner = "us:1", .serial = "s", .ttl = k_ttl},
      interrupt);
  StopsWithAGrant listener(granted);
  const RunTerms terms{.lease = *LeaseTerms::check(k_ttl, Duration::zero()),
                       .acquire = {.connect_timeout = 5s, .outage_limit = 30s}};
  bool taken = false;
  Acquirer acquirer(RunSession(terms, 1, BootClock::now()),
                    worker,
                    *signals,
                    listener,
                    [&taken](const Holds&, Time) -> Result<void> {
                      taken = true;
                      return {};
                    });
  const auto outcome = acquirer.run();
  if (taken) return 0;
  const bool too_late = outcome && outcome->kind == Outcome::Kind::failed &&
                        outcome->summary.released == RunSummary::Released::yes;
  return too_late ? 1 : 2;
}

// Does not answer for 20 s, or until it is interrupted.
class SilentStore final : public test::OneAnswerStore {
 public:
  SilentStore(const Interrupt& interrupt, bool& interrupted)
      : interrupt_(interrupt), interrupted_(interrupted) {}

  Result<ReleaseVerdict> release(const Holds&, const ReleaseOptions&, Time) override {
    return ReleaseVerdict::not_held;
  }

 private:
  Error answer(Time /*limit*/) override {
    const Time end = BootClock::now() + 20s;
    while (BootClock::now() < end) {
      pollfd beside = polled(&interrupt_);
      ::poll(&beside, 1, 1000);
      if (ends_call(&interrupt_, beside)) {
        interrupted_ = true;
        return {Errc::cancelled, "interrupted"};
      }
    }
    return {Errc::timed_out, "no answer"};
  }

  const Interrupt& interrupt_;
  bool& interrupted_;
};

// A TERM comes while the store is silent. 0: it ended the call, and the command.
int acquire_and_terminate() {
  auto signals = Signals::take_over();
  bool interrupted = false;
  bool granted = true;
  InterruptSlot interrupt;
  StoreWorker worker(
      std::make_unique<SilentStore>(interrupt, interrupted),
      {.names = {*LockName::parse("n")}, .owner = "us:1", .serial = "s", .ttl = k_ttl},
      interrupt);
  StopsWithAGrant listener(granted);
  const RunTerms terms{.lease = *LeaseTerms::check(k_ttl, Duration::zero()),
                       .acquire = {.connect_timeout = 60s, .outage_limit = 60s}};
  ::kill(::getpid(), SIGTERM);
  const auto nothing = [](const Holds&, Time) -> Result<void> { return {}; };
  Acquirer acquirer(RunSession(terms, 1, BootClock::now()), worker, *signals, listener, nothing);
  const auto outcome = acquirer.run();
  return interrupted && outcome && outcome->kind == Outcome::Kind::signalled ? 0 : 1;
}

std::string how_it_ended(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, WUNTRACED);
  if (!WIFSTOPPED(status)) return "not stopped";
  const Time lapsed = BootClock::now() + k_ttl;
  while (BootClock::now() < lapsed)
    ::usleep(10'000);
  ::kill(pid, SIGCONT);
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status)) : "killed";
}

}  // namespace

TEST_CASE("acquire: a signal ends a call of a store that does not answer") {
  CHECK(forked([] { return std::to_string(acquire_and_terminate()); }) == "0");
}

TEST_CASE("acquire: a lease that ended while dlock was stopped is not handed over") {
  CHECK(forked([] {
          const pid_t pid = ::fork();
          if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::setpgid(0, 0);
            ::_exit(acquire_and_stop());
          }
          return how_it_ended(pid);
        }) == "exit 1");
}

}  // namespace dlock
