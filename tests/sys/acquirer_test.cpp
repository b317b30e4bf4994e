// SPDX-License-Identifier: MIT
// What Acquirer does with a clock that goes on while it is stopped. In a process of its own
// (forked.hpp), and below it in one that stops.
#include "app/acquirer.hpp"

#include "sys/forked.hpp"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/prctl.h>

#include <csignal>
#include <future>

namespace dlock {

using namespace std::chrono_literals;
using test::forked;

namespace {

constexpr Duration k_ttl = 1s;

// Busy at first; the next answer is a grant that comes when it is told to come.
class LateStore final : public LockStore {
 public:
  explicit LateStore(std::future<void> granted) : granted_(std::move(granted)) {}

  StoreTraits traits() const override { return {}; }
  std::string where() const override { return "late:"; }
  Result<std::string> key_of(const LockName& name) const override { return name.text(); }

  Result<AcquireReply> acquire(const Claim& claim, Queueing, Time /*limit*/) override {
    const Refusal held{.holding = {.kind = Holding::Kind::lock}};
    if (!std::exchange(asked_, true)) return AcquireReply(held);
    granted_.wait();
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
  Result<RenewReply> renew(const Holds&, Time) override { return no(); }
  Result<RenewReply> check(const Holds&, Time) override { return no(); }
  Result<Watching> watch(const Claim&, bool, Time) override { return no(); }
  Result<Watching> watch_hold(const Holds&, Time) override { return no(); }
  Result<HandOff> await_hand_off(Time) override { return no(); }
  Result<Holding> inspect(const LockName&, Time) override { return no(); }
  Result<std::vector<std::string>> list(std::string_view, Time) override { return no(); }
  Result<RevokeReply> revoke(const LockName&, const RevokeOrder&, Time) override { return no(); }
  Result<std::optional<LastSuccess>> forget(const LockName&, Time) override { return no(); }

 private:
  static Error no() { return {Errc::refused, "not here"}; }

  std::future<void> granted_;
  bool asked_ = false;
};

// While it waits: the grant is there, and Ctrl-Z is.
class StopsWithAGrant final : public Listener {
 public:
  explicit StopsWithAGrant(std::promise<void> grant) : grant_(std::move(grant)) {}
  void attend(const StoreWorker& worker) { answers_ = worker.fd(); }

  void on_notice(const Notice& notice) override {
    // Of the holder, or of the store, which is silent meanwhile.
    const bool waits =
        notice.kind == Notice::Kind::waiting || notice.kind == Notice::Kind::store_away;
    if (!waits || std::exchange(stopped_, true)) return;
    grant_.set_value();
    pollfd answer{.fd = answers_, .events = POLLIN, .revents = 0};
    ::poll(&answer, 1, -1);
    ::kill(::getpid(), SIGTSTP);
  }

 private:
  std::promise<void> grant_;
  int answers_ = -1;
  bool stopped_ = false;
};

// 0: it took the lock; 1: it gave it back as too late.
int acquire_and_stop() {
  auto signals = Signals::take_over();
  std::promise<void> grant;
  const WakeUp interrupt;
  StoreWorker worker(
      std::make_unique<LateStore>(grant.get_future()),
      {.names = {*LockName::parse("n")}, .owner = "us:1", .serial = "s", .ttl = k_ttl},
      interrupt);
  StopsWithAGrant listener(std::move(grant));
  listener.attend(worker);
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
