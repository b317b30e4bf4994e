// SPDX-License-Identifier: MIT
#include "store/store_worker.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "store/abandoned_holds.hpp"
#include "store/dead_holders.hpp"
#include "store/undo.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace dlock {

namespace {

const char* word_for(action::Ask::What what) {
  switch (what) {
    case action::Ask::What::acquire:
      return "acquire";
    case action::Ask::What::watch:
      return "watch";
    case action::Ask::What::await_hand_off:
      return "await hand-off";
    case action::Ask::What::watch_hold:
      return "watch hold";
    case action::Ask::What::renew:
      return "renew";
    case action::Ask::What::check:
      return "check";
    case action::Ask::What::release:
      return "release";
    case action::Ask::What::undo:
      return "undo";
    case action::Ask::What::leave:
      return "leave";
    case action::Ask::What::inspect:
      return "inspect";
    case action::Ask::What::call:
      return "call";
  }
  return "?";
}

void log_call(action::Ask::What what, const StoreAnswer& answer, Duration took) {
  if (!logs(LogLevel::debug)) return;
  const std::string result = std::visit(
      [](const auto& event) {
        return event.answer ? std::string("answered") : event.answer.error().text;
      },
      answer);
  log(LogLevel::debug,
      std::string(word_for(what)) + ": " + result + " after " + format_duration(took));
}

class ClaimCalls {
 public:
  explicit ClaimCalls(Claim claim) : claim_(std::move(claim)) {}
  StoreAnswer carry_out(LockStore& store, const action::Ask& ask);

 private:
  Result<RenewReply> renew(LockStore& store, const action::Ask& ask);

  Claim claim_;
  Holds holds_;
  bool recorded_ = false;  // a renewal with the processes of the run was confirmed
  DeadHolders dead_holders_;
};

// Renews. The first confirmed renewal also records the processes of the run, unless the run has
// joined a hold of a run above it.
Result<RenewReply> ClaimCalls::renew(LockStore& store, const action::Ask& ask) {
  DLOCK_ASSERT(!holds_.empty());
  const bool records =
      ask.processes && !recorded_ &&
      std::none_of(holds_.begin(), holds_.end(), [](const Hold& hold) { return hold.nested; });
  if (!records) return store.renew(holds_, ask.limit);
  Holds holds = holds_;
  for (Hold& hold : holds) {
    hold.who.machine = ask.processes->machine;
    hold.who.guard = ask.processes->guard;
    hold.who.group = ask.processes->group;
  }
  auto answer = store.renew(holds, ask.limit);
  recorded_ = answer && answer->verdict == RenewVerdict::renewed;
  return answer;
}

StoreAnswer ClaimCalls::carry_out(LockStore& store, const action::Ask& ask) {
  using What = action::Ask::What;
  switch (ask.what) {
    case What::acquire: {
      auto event = dead_holders_.acquire(store, claim_, ask.queueing, ask.limit);
      if (const auto* grant = event.answer ? std::get_if<Grant>(&*event.answer) : nullptr)
        holds_ = grant->holds;
      const auto* const refusal = event.answer ? std::get_if<Refusal>(&*event.answer) : nullptr;
      const bool supersedes = claim_.who.supersede != Supersede::nothing;
      if (refusal != nullptr && supersedes && claim_.who.came_ms == 0 && store.traits().one_clock)
        claim_.who.came_ms = refusal->holding.now_ms;
      return event;
    }
    case What::watch:
      return event::Watched{store.watch(claim_, ask.front, ask.limit)};
    case What::await_hand_off:
      return event::HandedOff{store.await_hand_off(ask.limit)};
    case What::watch_hold:
      DLOCK_ASSERT(!holds_.empty());
      return event::Watched{store.watch_hold(holds_, ask.limit)};
    case What::check:
      DLOCK_ASSERT(!holds_.empty());
      return event::Renewed{store.check(holds_, ask.limit)};
    case What::renew:
      return event::Renewed{renew(store, ask)};
    case What::release:
      DLOCK_ASSERT(!holds_.empty());
      return event::Released{release_with_abandoned(store, holds_, ask.release_options, ask.limit)};
    case What::undo: {
      auto undone = undo(store, claim_, ask.queueing, ask.limit);
      if (!undone) return event::Released{undone.error()};
      return event::Released{ReleaseVerdict::released};
    }
    case What::leave: {
      auto left = store.leave(claim_, ask.queueing, ask.limit);
      if (!left) return event::Released{left.error()};
      return event::Released{ReleaseVerdict::not_held};
    }
    case What::inspect:
      return dead_holders_.inspect(store, claim_.names.at(ask.which), ask.which, ask.limit);
    case What::call:
      break;  // never for a claim: a subcommand that asks this brings its own StoreCalls
  }
  DLOCK_ASSERT(false);
}

}  // namespace

bool StoreWorker::start() {
  if (threaded_) return true;
  if (working_here_) return false;
  interrupt_.set(&cancel_);
  threaded_ = true;
  if (cancelled_) cancel_.raise();
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    threaded_ = false;
    cancel_.clear();
    interrupt_.set(nullptr);
    return false;
  }
  return true;
}

StoreWorker::~StoreWorker() {
  if (!threaded_) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    interrupt();
  }
  asked_.notify_one();
  thread_.join();
  interrupt_.set(nullptr);
}

void StoreWorker::ask(const action::Ask& what) {
  {
    const std::lock_guard lock(mutex_);
    if (!asks_.empty() && gives_way(asks_.front().what, what.what)) interrupt();
    asks_.push_back(what);
  }
  asked_.notify_one();
}

void StoreWorker::cancel() {
  const std::lock_guard lock(mutex_);
  if (!asks_.empty()) interrupt();
}

void StoreWorker::interrupt() {
  cancelled_ = true;
  if (threaded_) cancel_.raise();
}

// Removes the oldest Ask from the queue, now that it has been answered. It was not removed earlier,
// so that a cancel() during its call ended this call and not the next one. If the next Ask is to be
// cut short in favour of a later one (gives_way), interrupts its call at once.
void StoreWorker::done() {
  asks_.pop_front();
  cancelled_ = false;
  if (threaded_ && !stopping_) cancel_.clear();
  if (asks_.size() > 1 && gives_way(asks_.front().what, asks_.back().what)) interrupt();
}

StoreAnswer StoreWorker::work_here(const Interrupt& beside) {
  working_here_ = true;
  interrupt_.set(&beside);
  StoreAnswer answer = carry_out(asks_.front());
  interrupt_.set(nullptr);
  working_here_ = false;
  done();
  return answer;
}

StoreAnswer StoreWorker::carry_out(const action::Ask& ask) {
  const Time asked_at = BootClock::now();
  StoreAnswer answer = calls_(*store_, ask);
  log_call(ask.what, answer, BootClock::now() - asked_at);
  return answer;
}

std::optional<StoreAnswer> StoreWorker::next_answer() {
  answered_.clear();
  const std::lock_guard lock(mutex_);
  if (answers_.empty()) return {};
  std::optional<StoreAnswer> answer(std::move(answers_.front()));
  answers_.pop_front();
  if (!answers_.empty()) answered_.raise();
  return answer;
}

void StoreWorker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    asked_.wait(lock, [this] { return stopping_ || !asks_.empty(); });
    if (stopping_) return;
    const action::Ask what = asks_.front();
    lock.unlock();
    StoreAnswer answer = carry_out(what);
    lock.lock();
    done();
    answers_.push_back(std::move(answer));
    answered_.raise();
  }
}

StoreCalls calls_for(Claim claim) {
  return [calls = ClaimCalls(std::move(claim))](LockStore& store, const action::Ask& ask) mutable {
    return calls.carry_out(store, ask);
  };
}

}  // namespace dlock
