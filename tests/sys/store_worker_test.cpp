// SPDX-License-Identifier: MIT
#include "store/store_worker.hpp"

#include <doctest/doctest.h>

#include <poll.h>

#include <chrono>
#include <functional>
#include <utility>

#include "support/memory_store.hpp"
#include "support/one_answer_store.hpp"

namespace dlock {

using namespace std::chrono_literals;
using What = action::Ask::What;

namespace {

Claim claim_of(const std::string& owner) {
  return {.names = {*LockName::parse("n")}, .owner = owner, .serial = "s", .ttl = 30s, .who = {}};
}

Time in(Duration d) {
  return BootClock::now() + d;
}

// A store in which every call lasts until its limit, or until it is interrupted.
class HangingStore : public test::OneAnswerStore {
 public:
  explicit HangingStore(const Interrupt& interrupt) : interrupt_(interrupt) {}

 private:
  Error answer(Time limit) override {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - BootClock::now());
    pollfd wait{.fd = interrupt_.fd(), .events = POLLIN, .revents = 0};
    bool raised = false;
    bool ended = false;
    do {
      raised = ::poll(&wait, 1, static_cast<int>(std::max(left, 0ms).count())) == 1;
      ended = raised && interrupt_.ends_call();
    } while (raised && !ended);
    return {ended ? Errc::cancelled : Errc::timed_out, "hung"};
  }
  const Interrupt& interrupt_;
};

// Grants and releases at once; all other calls hang.
class MuteStore final : public HangingStore {
 public:
  using HangingStore::HangingStore;
  Result<AcquireReply> acquire(const Claim& claim, Queueing /*queueing*/, Time /*limit*/) override {
    const Hold hold{.name = claim.names.front(), .owner = claim.owner};
    return AcquireReply(Grant{.holds = {hold}, .sent_at = {}});
  }
  Result<ReleaseVerdict> release(const Holds& /*holds*/,
                                 const ReleaseOptions& /*options*/,
                                 Time /*limit*/) override {
    return ReleaseVerdict::released;
  }
};

// Waits for the next answer as the runner does, and returns it.
StoreAnswer next(StoreWorker& worker) {
  for (int i = 0; i < 100; ++i) {
    if (auto answer = worker.next_answer()) return std::move(*answer);
    pollfd wait{.fd = worker.fd(), .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, 200);
  }
  FAIL("no answer within 20 s");
  return event::Watched{Result<Watching>(Watching{})};
}

struct Shop {
  InterruptSlot interrupt;
  std::shared_ptr<MemoryServer> server = std::make_shared<MemoryServer>();
  StoreWorker worker{std::make_unique<MemoryStore>(server, &interrupt), claim_of("a:1"), interrupt};
};

}  // namespace

TEST_CASE("worker: answers come in the order of the asks, each in its own kind") {
  Shop shop;
  StoreWorker& worker = shop.worker;
  for (const What what : {What::acquire, What::watch, What::renew, What::release, What::undo})
    worker.ask({what, in(5s)});
  REQUIRE(worker.start());
  const auto acquired = std::get<event::Acquired>(next(worker));
  REQUIRE(acquired.answer.has_value());
  CHECK(std::holds_alternative<Grant>(*acquired.answer));
  CHECK(std::get<event::Watched>(next(worker)).answer.has_value());
  CHECK(std::get<event::Renewed>(next(worker)).answer->verdict == RenewVerdict::renewed);
  CHECK(*std::get<event::Released>(next(worker)).answer == ReleaseVerdict::released);
  CHECK(std::get<event::Released>(next(worker)).answer.has_value());
  CHECK_FALSE(worker.next_answer());
}

TEST_CASE("worker: all names of a claim are released, each with the options of the session") {
  InterruptSlot interrupt;
  const auto server = std::make_shared<MemoryServer>();
  Claim both = claim_of("a:1");
  both.names.push_back(*LockName::parse("m"));
  StoreWorker worker(std::make_unique<MemoryStore>(server, &interrupt), both, interrupt);
  worker.ask({.what = What::acquire, .limit = in(5s)});
  worker.ask(
      {.what = What::release, .limit = in(5s), .release_options = {.keep = 1h, .tell_for = 1h}});
  REQUIRE(worker.start());
  CHECK(std::get<Grant>(*std::get<event::Acquired>(next(worker)).answer).holds.size() == 2);
  CHECK(*std::get<event::Released>(next(worker)).answer == ReleaseVerdict::released);
  MemoryStore other(server);
  for (const LockName& name : both.names) {
    const auto holding = other.inspect(name, in(1s));
    REQUIRE(holding.has_value());
    REQUIRE(holding->holds.size() == 1);
    CHECK(holding->holds.front().kept);
  }
  Claim later = claim_of("b:2");
  later.once_per = 1h;
  CHECK(std::holds_alternative<Done>(*other.acquire(later, Queueing::no, in(1s))));
}

TEST_CASE(
    "worker: the first confirmed renewal records the processes of the run, later ones do not") {
  const auto server = std::make_shared<MemoryServer>();
  MemoryStore other(server);
  const auto group_of = [&](const std::string& name) {
    return other.inspect(*LockName::parse(name), in(1s))->holds.front().who.group;
  };
  const RunProcesses processes{.machine = "m", .guard = 8, .group = 9};
  InterruptSlot interrupt;
  StoreWorker worker(std::make_unique<MemoryStore>(server, &interrupt), claim_of("a:1"), interrupt);
  REQUIRE(worker.start());
  worker.ask({.what = What::acquire, .limit = in(5s)});
  next(worker);
  worker.ask({.what = What::renew, .limit = in(5s)});
  next(worker);
  CHECK(group_of("n") == 0);
  worker.ask({.what = What::renew, .limit = in(5s), .processes = processes});
  next(worker);
  CHECK(group_of("n") == 9);
  worker.ask({.what = What::renew, .limit = in(5s), .processes = RunProcesses{"m", 8, 10}});
  next(worker);
  CHECK(group_of("n") == 9);
}

TEST_CASE("worker: a run that has joined the hold of another says nothing of its processes") {
  const auto server = std::make_shared<MemoryServer>();
  MemoryStore other(server);
  REQUIRE(other.acquire(claim_of("a:1"), Queueing::no, in(1s)).has_value());
  InterruptSlot interrupt;
  Claim nested = claim_of("b:2");
  nested.serial = "t";
  nested.ancestors = {
      {.store = "", .key = *other.key_of(nested.names[0]), .owner = "a:1", .serial = "s"}};
  StoreWorker worker(std::make_unique<MemoryStore>(server, &interrupt), nested, interrupt);
  REQUIRE(worker.start());
  worker.ask({.what = What::acquire, .limit = in(5s)});
  REQUIRE(std::get<Grant>(*std::get<event::Acquired>(next(worker)).answer).holds.front().nested);
  worker.ask({.what = What::renew, .limit = in(5s), .processes = RunProcesses{"m", 8, 9}});
  next(worker);
  for (const HoldRecord& hold : other.inspect(nested.names[0], in(1s))->holds)
    CHECK(hold.who.group == 0);
}

TEST_CASE("worker: a busy lock is answered with its holding, a free one is taken later") {
  Shop shop;
  MemoryStore other(shop.server);
  const auto theirs = other.acquire(claim_of("b:2"), Queueing::no, in(1s));
  REQUIRE(theirs.has_value());
  REQUIRE(shop.worker.start());
  shop.worker.ask({What::acquire, in(5s)});
  const auto busy = std::get<event::Acquired>(next(shop.worker));
  REQUIRE(std::holds_alternative<Refusal>(*busy.answer));
  shop.worker.ask({What::watch, in(5s)});
  shop.worker.ask({What::await_hand_off, in(10s)});
  next(shop.worker);
  REQUIRE(other.release(std::get<Grant>(*theirs).holds, {}, in(1s)).has_value());
  CHECK(*std::get<event::HandedOff>(next(shop.worker)).answer == HandOff::changed);
}

TEST_CASE("worker: cancel ends a wait, which still answers") {
  Shop shop;
  REQUIRE(shop.worker.start());
  shop.worker.ask({What::watch, in(1s)});
  next(shop.worker);
  const Time before = BootClock::now();
  shop.worker.ask({What::await_hand_off, in(60s)});
  shop.worker.cancel();
  const auto answer = std::get<event::HandedOff>(next(shop.worker)).answer;
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::cancelled);
  CHECK(BootClock::now() - before < 10s);
}

TEST_CASE("worker: a cancel with nothing to end does not end the next ask") {
  Shop shop;
  REQUIRE(shop.worker.start());
  for (int i = 0; i < 50; ++i) {
    shop.worker.cancel();
    shop.worker.ask({What::watch, in(1s)});
    next(shop.worker);
    shop.worker.cancel();
    shop.worker.ask({What::await_hand_off, in(2ms)});
    const auto answer = std::get<event::HandedOff>(next(shop.worker)).answer;
    REQUIRE(answer.has_value());
    REQUIRE(*answer == HandOff::timed_out);
  }
}

TEST_CASE("worker: a cancel that races with the answer does not end the next ask") {
  Shop shop;
  REQUIRE(shop.worker.start());
  for (int i = 0; i < 300; ++i) {
    shop.worker.ask({What::watch, in(1s)});
    shop.worker.cancel();
    next(shop.worker);
    shop.worker.ask({What::await_hand_off, in(1ms)});
    REQUIRE(std::get<event::HandedOff>(next(shop.worker)).answer.has_value());
  }
}

TEST_CASE("worker: its destructor does not wait for a call that hangs") {
  const Time before = BootClock::now();
  {
    InterruptSlot interrupt;
    StoreWorker worker(std::make_unique<HangingStore>(interrupt), claim_of("a:1"), interrupt);
    worker.ask({What::acquire, in(60s)});
    worker.ask({What::watch, in(60s)});
    REQUIRE(worker.start());
  }
  CHECK(BootClock::now() - before < 10s);
}

TEST_CASE("worker: a release does not wait for an earlier call about the hold that hangs") {
  for (const What before : {What::renew, What::check, What::watch_hold, What::await_hand_off}) {
    CAPTURE(static_cast<int>(before));
    for (const bool at_once : {true, false}) {
      const Time started = BootClock::now();
      InterruptSlot interrupt;
      StoreWorker worker(std::make_unique<MuteStore>(interrupt), claim_of("a:1"), interrupt);
      REQUIRE(worker.start());
      worker.ask({What::acquire, in(60s)});
      next(worker);
      worker.ask({before, in(60s)});
      if (!at_once) ::poll(nullptr, 0, 20);
      worker.ask({What::release, in(60s)});
      next(worker);
      const auto released = std::get<event::Released>(next(worker)).answer;
      REQUIRE(released.has_value());
      CHECK(*released == ReleaseVerdict::released);
      CHECK(BootClock::now() - started < 10s);
    }
  }
}

TEST_CASE("worker: a release does not wait for what is queued behind a wait for changes") {
  const Time started = BootClock::now();
  InterruptSlot interrupt;
  StoreWorker worker(std::make_unique<MuteStore>(interrupt), claim_of("a:1"), interrupt);
  for (const What what : {What::acquire, What::await_hand_off, What::renew, What::release})
    worker.ask({what, in(60s)});
  REQUIRE(worker.start());
  for (int i = 0; i < 3; ++i)
    next(worker);
  CHECK(std::get<event::Released>(next(worker)).answer.has_value());
  CHECK(BootClock::now() - started < 10s);
}

namespace {

// Runs `act` once during a call, then ends the call if the worker says so.
class Beside : public Interrupt {
 public:
  Beside(StoreWorker& worker, std::function<void()> act) : worker_(worker), act_(std::move(act)) {
    soon_.raise();
  }
  int fd() const override { return soon_.fd(); }
  bool ends_call() const override {
    soon_.clear();
    if (act_) std::exchange(act_, {})();
    return worker_.cancelled();
  }

 private:
  StoreWorker& worker_;
  WakeUp soon_;
  mutable std::function<void()> act_;
};

}  // namespace

TEST_CASE("worker: without its thread a call is made here, and may be cancelled beside it") {
  InterruptSlot interrupt;
  StoreWorker worker(std::make_unique<HangingStore>(interrupt), claim_of("a:1"), interrupt);
  CHECK_FALSE(worker.has_work_here());
  worker.ask({What::acquire, in(60s)});
  worker.ask({What::undo, in(20ms)});
  REQUIRE(worker.has_work_here());
  const Beside cancels(worker, [&] {
    CHECK_FALSE(worker.start());  // the store has a call already
    worker.cancel();
  });
  CHECK(std::get<event::Acquired>(worker.work_here(cancels)).answer.error().code ==
        Errc::cancelled);
  const Beside nothing(worker, {});
  CHECK(std::get<event::Released>(worker.work_here(nothing)).answer.error().code ==
        Errc::timed_out);
  CHECK_FALSE(worker.has_work_here());
}

TEST_CASE("worker: without its thread a call gives way to one that is asked beside it") {
  InterruptSlot interrupt;
  StoreWorker worker(std::make_unique<MuteStore>(interrupt), claim_of("a:1"), interrupt);
  worker.ask({What::acquire, in(60s)});
  const Beside nothing(worker, {});
  worker.work_here(nothing);
  worker.ask({What::renew, in(60s)});
  const Beside asks(worker, [&] { worker.ask({What::release, in(60s)}); });
  CHECK(std::get<event::Renewed>(worker.work_here(asks)).answer.error().code == Errc::cancelled);
  CHECK(*std::get<event::Released>(worker.work_here(nothing)).answer == ReleaseVerdict::released);
}

TEST_CASE("worker: cancel ends only the ask that hangs, the one behind it is carried out") {
  InterruptSlot interrupt;
  StoreWorker worker(std::make_unique<HangingStore>(interrupt), claim_of("a:1"), interrupt);
  REQUIRE(worker.start());
  worker.ask({What::acquire, in(60s)});
  worker.ask({What::undo, in(20ms)});
  worker.cancel();
  CHECK(std::get<event::Acquired>(next(worker)).answer.error().code == Errc::cancelled);
  CHECK(std::get<event::Released>(next(worker)).answer.error().code == Errc::timed_out);
}

TEST_CASE("worker: any ask ends a wait for changes, and is carried out") {
  for (const What news : {What::await_hand_off, What::watch_hold}) {
    Shop shop;
    REQUIRE(shop.worker.start());
    shop.worker.ask({What::acquire, in(5s)});
    next(shop.worker);
    for (int i = 0; i < 20; ++i) {
      const Time before = BootClock::now();
      shop.worker.ask({news, in(60s)});
      shop.worker.ask({What::renew, in(5s)});
      next(shop.worker);
      const auto renewed = std::get<event::Renewed>(next(shop.worker)).answer;
      REQUIRE(renewed.has_value());
      CHECK(renewed->verdict == RenewVerdict::renewed);
      CHECK(BootClock::now() - before < 10s);
    }
  }
}

TEST_CASE("worker: the next ask does not end one that is no wait for changes") {
  InterruptSlot interrupt;
  StoreWorker worker(std::make_unique<HangingStore>(interrupt), claim_of("a:1"), interrupt);
  REQUIRE(worker.start());
  worker.ask({What::acquire, in(50ms)});
  worker.ask({What::undo, in(50ms)});
  CHECK(std::get<event::Acquired>(next(worker)).answer.error().code == Errc::timed_out);
  CHECK(std::get<event::Released>(next(worker)).answer.error().code == Errc::timed_out);
}

TEST_CASE("worker: a worker that was never started can be destroyed") {
  Shop shop;
  shop.worker.ask({What::acquire, in(1s)});
  CHECK_FALSE(shop.worker.next_answer());
}

}  // namespace dlock
