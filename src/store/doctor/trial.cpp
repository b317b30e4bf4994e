// SPDX-License-Identifier: MIT
#include "store/doctor/trial.hpp"

#include "base/duration.hpp"
#include "base/host_name.hpp"
#include "base/random.hpp"
#include "base/user_name.hpp"
#include "core/signal_policy.hpp"
#include "store/undo.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace dlock {

namespace {

Claim trial_claim(const LockName& name) {
  const long pid = ::getpid();
  return {.names = {name},
          .owner = make_owner_id(pid),
          .serial = make_hold_serial(),
          .ttl = Trial::k_ttl,
          .renewed = false,  // no warning is wanted that this hold may not outlive a failover
          .who = {.host = host_name(), .pid = pid, .user = user_name(), .command = "dlock doctor"}};
}

// One run of the trial lock of `dlock doctor` (trial.hpp). Each function carries out one part of
// it, and returns whether the next part makes sense.
class Tryout {
 public:
  Tryout(LockStore& holder,
         LockStore& rival,
         const LockName& name,
         const Undisturbed& signals,
         Time until)
      : holder_(holder),
        rival_(rival),
        signals_(signals),
        until_(until),
        claim_(trial_claim(name)),
        second_(trial_claim(name)) {}

  Trial run() {
    if (!acquire()) return std::move(trial_);
    if (renew() && inspect() && holder_.traits().line) {
      stand_in_line();
      lose_and_hear();
    }
    release();
    return std::move(trial_);
  }

 private:
  Time until() const { return signals_.until(until_); }

  template <class T>
  bool step(const char* what, Time since, const Result<T>& done) {
    if (trial_.failure) return false;
    if (!done) trial_.failure = Error{done.error().code, what + (": " + done.error().text)};
    if (done) trial_.steps.push_back({what, BootClock::now() - since});
    return done.has_value();
  }

  bool acquire() {
    const Time since = BootClock::now();
    auto reply = holder_.acquire(claim_, Queueing::no, until());
    if (reply && std::holds_alternative<Grant>(*reply)) {
      holds_ = std::get<Grant>(*reply).holds;
    } else if (reply) {
      reply = Error{Errc::refused, "a lock that no one else knows is held"};
    }
    if (step("acquire", since, reply)) return true;
    // Without an answer, the lock may have been acquired all the same. So the claim is undone.
    if (auto undone = undo(holder_, claim_, Queueing::no, until()); !undone) return false;
    return false;
  }

  bool renew() {
    const Time since = BootClock::now();
    Result<RenewReply> reply = holder_.renew(holds_, until());
    if (reply && reply->verdict != RenewVerdict::renewed) {
      reply = Error{Errc::lost, "the lock was lost at once: the server forgot it"};
    }
    return step("renew", since, reply);
  }

  bool inspect() {
    const Time since = BootClock::now();
    Result<Holding> holding = holder_.inspect(claim_.names.front(), until());
    if (holding && holding->kind != Holding::Kind::lock) {
      holding = Error{Errc::lost, "the lock is not there, though it was granted"};
    }
    return step("inspect", since, holding);
  }

  void stand_in_line() {
    const auto watching = rival_.watch(second_, /*front=*/true, until());
    if (!watching) {
      trial_.turns = Trial::Messages::refused;
      trial_.turns_because = watching.error().text;
      return;
    }
    const auto reply = rival_.acquire(second_, Queueing::listening, until());
    waits_ = reply && std::holds_alternative<Refusal>(*reply);
  }

  // The rival revokes the lock. A message about it should reach the holder, which watches the lock.
  void lose_and_hear() {
    const auto watching = holder_.watch_hold(holds_, until());
    if (!watching || !watching->untracked_because.empty()) {
      trial_.changes = Trial::Messages::refused;
      trial_.changes_because = watching ? watching->untracked_because : watching.error().text;
      return;
    }
    if (!holder_.renew(holds_, until())) return;  // after this renewal the server tracks the key
    const auto revoked = rival_.revoke(claim_.names.front(), {.by = "dlock doctor"}, until());
    if (!revoked || revoked->verdict != RevokeVerdict::revoked) return;
    trial_.changes = heard(holder_, HandOff::changed);
  }

  void release() {
    const Time since = BootClock::now();
    Result<ReleaseVerdict> verdict = holder_.release(holds_, {}, until());
    if (verdict && *verdict != ReleaseVerdict::released) {
      verdict = Error{Errc::lost, "the lock was lost: the server forgot it"};
    }
    step("release", since, verdict);
    if (waits_) trial_.turns = heard(rival_, HandOff::turn);
    if (rival_.traits().line && trial_.turns != Trial::Messages::refused) {
      const auto left = undo(rival_, second_, Queueing::listening, until());
      if (!left && !trial_.failure) trial_.failure = left.error();
    }
  }

  Trial::Messages heard(LockStore& store, HandOff wanted) const {
    const Time most = std::min(until(), BootClock::now() + Trial::k_message_takes);
    while (BootClock::now() < most) {
      const auto came = store.await_hand_off(most);
      if (!came) break;
      if (*came == wanted) return Trial::Messages::heard;
    }
    return Trial::Messages::lost;
  }

  LockStore& holder_;
  LockStore& rival_;
  const Undisturbed& signals_;
  Time until_;
  Claim claim_;
  Claim second_;  // the claim with which the rival waits
  Holds holds_;
  bool waits_ = false;  // the rival is in line
  Trial trial_;
};

}  // namespace

Undisturbed::Undisturbed(InterruptSlot* calls) : calls_(calls), signals_(Signals::take_over()) {
  if (calls_ != nullptr) calls_->set(this);
}

Undisturbed::~Undisturbed() {
  if (calls_ != nullptr) calls_->set(nullptr);
  for (const int number : came_)
    ::raise(number);
  if (signals_) signals_->give_back();
}

bool Undisturbed::ends_call() const {
  while (const auto number = signals_->next()) {
    came_.push_back(*number);
    if (use_of(*number, false) != SignalUse::deliver || ended_at_) continue;
    ended_at_ = BootClock::now();
    return true;
  }
  return false;
}

Time Undisturbed::until(Time limit) const {
  constexpr Duration k_tidying_takes = std::chrono::milliseconds(150);
  return ended_at_ ? std::min(limit, *ended_at_ + k_tidying_takes) : limit;
}

LockName trial_name(const std::optional<LockName>& name) {
  // A name has at most 512 bytes, and the part behind `beside` takes some of them.
  constexpr std::size_t k_longest_beside = 480;
  const std::string beside = name ? name->text().substr(0, k_longest_beside) + ':' : "";
  return *LockName::parse(beside + "doctor:" + random_hex(8));
}

Trial try_lock(LockStore& holder,
               LockStore& rival,
               const LockName& name,
               const Undisturbed& signals,
               Time until) {
  return Tryout(holder, rival, name, signals, until).run();
}

Finding measure_answers(LockStore& store, const ExamineTerms& terms, ExaminedServer& server) {
  constexpr std::size_t k_questions = 10;
  const LockName name = trial_name(terms.name);
  std::vector<Duration> took;
  while (took.size() <= k_questions && BootClock::now() < terms.until) {
    const Time since = BootClock::now();
    if (auto answer = store.inspect(name, terms.until); !answer)
      return not_seen(answer.error().text);
    took.push_back(BootClock::now() - since);
  }
  if (took.size() < 2) return not_seen("there was no time to measure");
  took.erase(took.begin());  // the first time includes the connection
  std::sort(took.begin(), took.end());
  server.p50 = took[took.size() / 2];
  server.p99 = took.back();
  return judge_answers(*server.p50, *server.p99, terms.lease.ttl());
}

Finding judge_trial(const Trial& trial) {
  std::string took;
  for (const TrialStep& step : trial.steps)
    took += (took.empty() ? "" : ", ") + step.what + " " + fine_duration(step.took);
  if (!trial.failure) return took.empty() ? not_seen("there was no server to try") : info(took);
  if (trial.of_any_name && trial.failure->code == Errc::denied)
    return not_seen(trial.failure->text +
                    "; this user may lock some names only: give one, as \"dlock doctor NAME\"");
  return broken("a lock of its own: " + trial.failure->text,
                "dlock cannot work like this",
                "mend what is listed before this; if nothing is, ask the server's operator");
}

Finding judge_turns(const Trial& trial) {
  switch (trial.turns) {
    case Trial::Messages::heard:
      return good("a waiter hears of its turn");
    case Trial::Messages::not_tried:
      return not_seen("the lock of the trial could not be waited for");
    case Trial::Messages::refused:
      return warning(
          "no subscription: " + trial.turns_because,
          "waiters ask several times a second instead",
          "allow SUBSCRIBE, CLIENT ID and the channels, as dlock-protocol(7) lists them");
    case Trial::Messages::lost:
      break;
  }
  return warning("a message to a waiter did not arrive within 1s",
                 "a hand-off then takes seconds",
                 "let the URL lead to the server itself and not to a proxy");
}

Finding judge_changes(const Trial& trial, Duration renewed_every) {
  const std::string late = "a loss is noticed only at the next renewal, up to " +
                           format_duration(renewed_every) + " later";
  switch (trial.changes) {
    case Trial::Messages::heard:
      return good("a holder hears of a change of its lock");
    case Trial::Messages::not_tried:
      return not_seen("the lock of the trial could not be changed");
    case Trial::Messages::refused:
      return warning("no key tracking: " + trial.changes_because,
                     late,
                     "allow CLIENT TRACKING and the channel, as dlock-protocol(7) lists them");
    case Trial::Messages::lost:
      break;
  }
  return warning("a change of a tracked lock was not heard of within 1s",
                 late,
                 "let the URL lead to the server itself and not to a proxy");
}

}  // namespace dlock
