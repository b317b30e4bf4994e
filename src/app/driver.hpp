// SPDX-License-Identifier: MIT
// Driver: the event loop of a command. It runs one machine of core, which decides what to do
// (core/machine.hpp). In each round of the loop Driver waits for a signal, the timer, an answer of
// the store or the end of a process, and reads the clock once. It passes the events to the machine,
// event::Tick first if the machine's deadline has passed, and carries out the actions that the
// machine returns.
//
// Until a command runs, this thread calls the store itself, and handles other events during the
// call. The first call while a command runs starts the store thread; a short job ends before that
// and needs no such thread. A store that can hang in the kernel (StoreTraits::may_hang) is called
// on the store thread from its first call on.
//
// For a command without actions of its own three lines are enough:
//
//   StoreWorker worker(std::move(store), calls, interrupt);   // `calls` carries out each Ask
//   Driver<WatchLoop> driver(WatchLoop(terms, seed, BootClock::now()), worker, voice);
//   Result<WatchLoop::Outcome> ended = driver.run();
//
// Actions that not every command has, such as StartChild, go to `arms.carry_out(action)`. The class
// Arms derives from DriverHooks and replaces the hooks that it needs; Runner and Acquirer are such
// classes.
#pragma once

#include "base/errno_text.hpp"
#include "core/machine.hpp"
#include "core/signal_policy.hpp"
#include "store/store_worker.hpp"
#include "sys/deadline_timer.hpp"
#include "sys/signals.hpp"
#include "sys/unique_fd.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace dlock {

// Hooks: functions that the loop calls and that a command may replace.
struct DriverHooks {
  bool has_command() const { return false; }  // whether a command or its leftovers run
  void asking(action::Ask& /*ask*/) {}        // called before an Ask is passed to the store worker
  void asked(action::Ask::What /*what*/) {}   // called after an Ask was passed to the store worker
  std::optional<Time> look_at() const { return {}; }  // the latest time for the next look()
  void look() {}                                      // called at the end of each round
  void finishing() {}                                 // called before run() returns the outcome
  void child_changed() {}                             // called after SIGCHLD
  void continued() {}                                 // called after SIGCONT
  bool stop() { return false; }  // called after SIGTSTP; false: the driver stops dlock
};

// Everything that the loop waits for, behind one descriptor, so that a call to the store can wait
// for this descriptor too.
class EventSources {
 public:
  // With `signals` null, signals keep their default actions.
  EventSources(const Signals* signals, int answers_fd);

  int error() const { return error_; }  // errno if it cannot work, otherwise 0
  void watch_process(int pidfd);        // -1: there is nothing to watch
  void process_ended(int pidfd);        // stops watching the process
  // Sets the time at which to wake up; nullopt: never.
  void set_deadline(std::optional<Time> deadline) { timer_.set(deadline); }

  struct Ready {
    bool signals = false;
    bool answers = false;
    bool process = false;
  };
  Ready wait() { return look(-1); }      // waits until a source is ready
  Ready look_now() { return look(0); }   // which sources are ready, without waiting
  int fd() const { return all_.get(); }  // readable if wait() would return at once

 private:
  enum Source : std::uint32_t { k_timer = 1, k_signals = 2, k_answers = 4, k_process = 8 };
  void add(int fd, Source source);
  Ready look(int timeout_ms);

  UniqueFd all_;  // epoll(7)
  DeadlineTimer timer_;
  int error_ = 0;
};

template <class Machine, class Arms = DriverHooks>
class Driver {
 public:
  using Outcome = typename Machine::Outcome;

  // For a command that leaves nothing behind: signals keep their default actions and may end it at
  // any time.
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
  // Not copied, because arms and driver refer to each other.
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver() = default;

  // Watches a process, and passes its end to the machine as event::ProcessEnded. The caller keeps
  // the ownership of `pidfd`.
  void watch_process(int pidfd) { sources_.watch_process(process_ = pidfd); }

  // Runs until the machine has an outcome, and returns it. Errc::system: the kernel refused what
  // the loop needs, before the store was asked.
  Result<Outcome> run() {
    if (const int error = worker_.error() != 0 ? worker_.error() : sources_.error(); error != 0)
      return Error{Errc::system, "cannot wait for events: " + errno_text(error)};
    read_clock();
    carry_out(machine_.start(now_));
    while (!outcome_) {
      if (worker_.has_work_here()) {
        call_store();
      } else {
        sources_.set_deadline(next_deadline());
        take(sources_.wait());
      }
    }
    return std::move(*outcome_);
  }

  // For Arms: passes an event from outside the loop to the machine.
  template <class Event>
  void feed(Event event) {
    if (!outcome_) carry_out(machine_.on(std::move(event), now_));
  }
  // For Arms: must be called after anything that may have taken long.
  void read_clock() { now_ = BootClock::now(); }
  Time now() const { return now_; }
  const Machine& machine() const { return machine_; }
  bool ended() const { return outcome_.has_value(); }

 private:
  static Arms& no_arms() {
    static Arms none;
    return none;
  }

  std::optional<Time> next_deadline() {
    const Time deadline = machine_.next_deadline().value_or(Time::max());
    const Time first = std::min(deadline, arms_.look_at().value_or(Time::max()));
    return first < Time::max() ? std::optional(first) : std::nullopt;
  }

  void take(EventSources::Ready ready) {
    read_clock();
    tick();
    if (ready.signals) take_signals();
    if (ready.process) process_ended();
    if (ready.answers) take_answers();
    if (!outcome_) arms_.look();
  }

  // Passes event::Tick if the machine's deadline has passed. take() calls this before it passes
  // other events.
  void tick() {
    if (machine_.next_deadline().value_or(Time::max()) <= now_) feed(event::Tick{});
  }

  // Calls the store on this thread, and handles events during the call.
  void call_store() {
    const Beside beside(*this);
    beside.set_deadline();
    StoreAnswer answer = worker_.work_here(beside);
    take(sources_.look_now());  // signals first: the answer may start the command
    take_answer(answer);
  }

  class Beside : public Interrupt {
   public:
    explicit Beside(Driver& driver) : driver_(driver) {}
    int fd() const override { return driver_.sources_.fd(); }
    bool ends_call() const override {
      driver_.take(driver_.sources_.look_now());
      set_deadline();
      return driver_.worker_.cancelled() || driver_.ended();
    }
    // Sets the time at which the call wakes up to handle deadlines. If the call was cancelled
    // before it began, it wakes up at once.
    void set_deadline() const {
      const bool at_once = driver_.worker_.cancelled();
      driver_.sources_.set_deadline(at_once ? driver_.now() : driver_.next_deadline());
    }

   private:
    Driver& driver_;
  };

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
          read_clock();  // the stop may have lasted for hours
          break;
        case SignalUse::deliver:
          if constexpr (takes<event::Signal>) feed(event::Signal{*number});
          break;
      }
    }
  }

  void process_ended() {
    sources_.process_ended(process_);
    if constexpr (takes<event::ProcessEnded>) feed(event::ProcessEnded{});
  }

  void take_answers() {
    while (auto answer = worker_.next_answer())
      take_answer(*answer);
  }

  void take_answer(StoreAnswer& answer) {
    std::visit(
        [&](auto& what) {
          // A machine that never sends the request of this answer has no function for the answer.
          if constexpr (takes<std::decay_t<decltype(what)>>) feed(std::move(what));
        },
        answer);
  }

  template <class Actions>
  void carry_out(Actions actions) {
    for (auto& action : actions) {
      std::visit([&](auto& what) { carry_out_one(what); }, action);
    }
  }

  // Passes a request to the store worker. While a command runs, or if the store can hang in the
  // kernel, the store thread makes the call, because this thread must not block. If no thread can
  // be started, this thread calls the store.
  void carry_out_one(action::Ask& ask) {
    if (arms_.has_command() || worker_.may_hang()) worker_.start();
    arms_.asking(ask);
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
  int process_ = -1;
  Time now_;
  std::optional<Outcome> outcome_;
};

}  // namespace dlock
