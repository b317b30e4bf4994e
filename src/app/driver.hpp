// SPDX-License-Identifier: MIT
// Driver: the loop of one command on this machine, for every machine of core (core/machine.hpp). In
// each turn it polls signals, timer, store thread and, if there is one, a process; reads the clock
// once; feeds the machine with event::Tick first, if that is due, then with the rest; and carries
// out the actions that come back. It decides nothing.
//
// A command without actions of its own needs three lines:
//
//   StoreWorker worker(std::move(store), calls, interrupt);   // what an Ask means: StoreCalls
//   Driver<WatchLoop> driver(WatchLoop(terms, BootClock::now()), worker, voice);
//   Result<WatchLoop::Outcome> ended = driver.run();
//
// Other actions go to `arms.carry_out(action)`; Arms derives from DriverHooks and replaces those of
// its functions that it needs (Runner, Acquirer).
#pragma once

#include "core/machine.hpp"
#include "core/signal_policy.hpp"
#include "store/store_worker.hpp"
#include "sys/deadline_timer.hpp"
#include "sys/signals.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace dlock {

// What a command does in the loop besides the actions of its machine. All are optional.
struct DriverHooks {
  bool has_command() const { return false; }          // see use_of()
  void asked(action::Ask::What /*what*/) {}           // the store thread has it
  void started() {}                                   // the store thread runs, with the first ask
  std::optional<Time> look_at() const { return {}; }  // when to call look(), whatever comes
  void look() {}                                      // at the end of each turn
  void finishing() {}                                 // before run() returns the outcome
  void child_changed() {}                             // SIGCHLD came
  void continued() {}                                 // SIGCONT came
  bool stop() { return false; }                       // SIGTSTP came; false: the driver stops us
};

// What one turn waits for.
class EventSources {
 public:
  // Without signals they keep their default actions.
  EventSources(const Signals* signals, int answers_fd)
      : signals_(signals), answers_fd_(answers_fd) {}

  bool ok() const { return timer_.ok(); }
  void watch_process(int pidfd) { process_fd_ = pidfd; }
  struct Ready {
    bool signals = false;
    bool answers = false;
    bool process = false;
  };
  Ready wait(std::optional<Time> deadline);

 private:
  const Signals* signals_;
  int answers_fd_;
  int process_fd_ = -1;
  DeadlineTimer timer_;
};

template <class Machine, class Arms = DriverHooks>
class Driver {
 public:
  using Outcome = typename Machine::Outcome;

  // For a command that leaves nothing behind when a signal ends it.
  Driver(Machine machine, StoreWorker& worker, Listener& listener)
      : Driver(std::move(machine), worker, nullptr, listener, no_arms()) {}
  Driver(
      Machine machine, StoreWorker& worker, const Signals* signals, Listener& listener, Arms& arms)
      : machine_(std::move(machine)),
        worker_(worker),
        signals_(signals),
        listener_(listener),
        arms_(arms),
        sources_(signals, worker.fd()) {}
  // Arms refer to it, and it to them.
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver() = default;

  // The end of this process is event::ProcessEnded. `pidfd` stays the caller's.
  void watch_process(int pidfd) { sources_.watch_process(pidfd); }

  // Runs to the end. Errc::system only if this machine fails us before anything was asked.
  Result<Outcome> run() {
    if (!sources_.ok()) return Error{Errc::system, "cannot make a timer: too many open files"};
    read_clock();
    carry_out(machine_.start(now_));
    // Started with its first task already in hand: that saves a wake-up.
    auto started = worker_.start();
    if (!started) return started.error();
    arms_.started();
    while (!outcome_)
      turn();
    return std::move(*outcome_);
  }

  // For Arms: what happened beside the loop.
  template <class Event>
  void feed(Event event) {
    if (!outcome_) carry_out(machine_.on(std::move(event), now_));
  }
  // After something that may have taken long.
  void read_clock() { now_ = BootClock::now(); }
  Time now() const { return now_; }
  const Machine& machine() const { return machine_; }
  bool ended() const { return outcome_.has_value(); }

 private:
  static Arms& no_arms() {
    static Arms none;
    return none;
  }

  void turn() {
    const Time deadline = machine_.next_deadline().value_or(Time::max());
    const Time look_at = arms_.look_at().value_or(Time::max());
    const Time first = std::min(deadline, look_at);
    const auto ready = sources_.wait(first < Time::max() ? std::optional(first) : std::nullopt);
    read_clock();
    // Time first: whatever came in, a deadline that has passed is acted on before.
    if (machine_.next_deadline().value_or(Time::max()) <= now_) feed(event::Tick{});
    if (ready.signals) take_signals();
    if (ready.process) process_ended();
    if (ready.answers) take_answers();
    if (!outcome_) arms_.look();
  }

  void take_signals() {
    while (const auto number = signals_->next()) {
      switch (use_of(*number, arms_.has_command())) {
        case SignalUse::nothing:
          break;
        case SignalUse::child_changed:
          arms_.child_changed();
          break;
        case SignalUse::continued:
          arms_.continued();
          break;
        case SignalUse::stop:
          if (arms_.stop()) break;
          signals_->stop_here();
          read_clock();  // perhaps hours later
          break;
        case SignalUse::deliver:
          if constexpr (takes<event::Signal>) feed(event::Signal{*number});
          break;
      }
    }
  }

  void process_ended() {
    sources_.watch_process(-1);
    if constexpr (takes<event::ProcessEnded>) feed(event::ProcessEnded{});
  }

  void take_answers() {
    while (auto answer = worker_.next_answer()) {
      std::visit(
          [this](auto& what) {
            // A machine gets no answer that it never asks for.
            if constexpr (takes<std::decay_t<decltype(what)>>) feed(std::move(what));
          },
          *answer);
    }
  }

  template <class Actions>
  void carry_out(Actions actions) {
    for (auto& action : actions) {
      std::visit([this](auto& what) { carry_out_one(what); }, action);
    }
  }

  void carry_out_one(action::Ask& ask) {
    worker_.ask(ask);
    arms_.asked(ask.what);
  }
  void carry_out_one(action::CancelAsk& /*cancel*/) { worker_.cancel(); }
  void carry_out_one(action::Say& say) { listener_.on_notice(say.notice); }
  template <class Other>
  void carry_out_one(Other& action) {
    if constexpr (requires { action.outcome; }) {
      arms_.finishing();
      outcome_.emplace(std::move(action.outcome));
    } else {
      arms_.carry_out(action);
    }
  }

  template <class Event>
  static constexpr bool takes = requires(Machine& machine, Event event, Time now) {
    machine.on(std::move(event), now);
  };

  Machine machine_;
  StoreWorker& worker_;
  const Signals* signals_;
  Listener& listener_;
  Arms& arms_;
  EventSources sources_;
  Time now_;
  std::optional<Outcome> outcome_;
};

}  // namespace dlock
