// SPDX-License-Identifier: MIT
#include "app/runner.hpp"

#include "app/hold_variables.hpp"
#include "sys/boot.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// How often dlock checks whether the command's group is gone. No signal tells dlock of the end of a
// group member whose parent lives outside the group: SIGCHLD goes to that parent.
constexpr Duration k_look_for_leftovers = 20ms;
constexpr Duration k_look_for_contained = 1s;  // with --contain, as processes may live for days

// Returns whether this is a signal that the kernel sends to a background group that uses the
// terminal.
bool is_for_terminal(int signal) {
  return signal == SIGTTIN || signal == SIGTTOU;
}

}  // namespace

Runner::Runner(RunPlan plan,
               RunSession session,
               StoreWorker& worker,
               const Signals& signals,
               Child child,
               RunListener& listener)
    : plan_(std::move(plan)),
      signals_(signals),
      child_(std::move(child)),
      listener_(listener),
      terminal_(Terminal::of_stdin()),
      guard_due_(!worker.may_hang()),
      driver_(std::move(session), worker, &signals, listener, *this) {}

// With --contain the command has processes that the store's record would not show.
void Runner::asking(action::Ask& ask) {
  if (ask.what != action::Ask::What::renew || plan_.contain || !child_.started()) return;
  if (!processes_)
    processes_ = {.machine = pid_space(), .guard = child_.guard(), .group = child_.group()};
  ask.processes = processes_;
}

void Runner::asked(action::Ask::What what) {
  using What = action::Ask::What;
  if (what == What::watch) child_.drop_guard();
  // At a release the group seems to be gone, or it never existed. end_group() kills what may be
  // left.
  if (what == What::release) child_.end_group();
}

// Nothing is released after a command that ran without the lock: its group ends here.
void Runner::finishing() {
  if (unlocked_) child_.end_group();
  child_.reap();
}

std::optional<Time> Runner::look_at() const {
  if (guard_due_) return driver_.now();
  if (!leftovers_) return {};
  return driver_.now() + (plan_.contain ? k_look_for_contained : k_look_for_leftovers);
}

void Runner::look() {
  // If the guard cannot be started, StartChild tries again and reports the error.
  if (std::exchange(guard_due_, false)) static_cast<void>(child_.start_guard());
  listener_.on_acted();
  if (!leftovers_ || child_.group_alive()) return;
  leftovers_ = false;
  driver_.feed(event::GroupGone{});
}

void Runner::guarded(const std::string& trouble) {
  if (!trouble.empty()) listener_.on_guard(trouble);
}

void Runner::carry_out(action::StartChild& start) {
  unlocked_ = start.holds.empty();
  const bool hand_over = terminal_ && terminal_->stdout_too() && terminal_->is_ours();
  ChildSpec spec{
      .words = plan_.words,
      .environment = child_environment(start.holds),
      .mark = format_holds(hold_entries(plan_.store, plan_.names, plan_.keys, start.holds)),
      .terminal = hand_over ? terminal_->fd() : -1,
      .kill_at = start.kill_at};
  auto started = child_.start(std::move(spec), signals_);
  if (!started) return driver_.feed(event::StartFailed{started.error()});
  if (hand_over) terminal_->note_given();
  listener_.on_started(child_.group());
}

void Runner::carry_out(action::SignalGroup& order) {
  // A process has sent this signal to dlock alone, so dlock will stop itself but not its whole
  // group, as after SIGTSTP (see stop()).
  if (is_for_terminal(order.signal)) told_to_stop_ = true;
  child_.signal_group(order.signal, order.wake);
}

void Runner::child_changed() {
  guarded(child_.look_at_guard());
  look_at_child();
}

// Called when dlock gets SIGTSTP, from a process or from the terminal, which sends it to our whole
// group. Passes the signal on to the child; dlock stops when the child has stopped. Returns false
// if no command runs.
bool Runner::stop() {
  if (!has_command()) return false;
  told_to_stop_ = true;
  child_.signal_group(SIGTSTP);
  return true;
}

void Runner::look_at_child() {
  for (;;) {
    const ChildChange change = child_.next_change();
    switch (change.kind) {
      case ChildChange::Kind::none:
        return;
      case ChildChange::Kind::continued:
        break;
      case ChildChange::Kind::stopped:
        child_stopped(change.value);
        break;
      case ChildChange::Kind::ended:
        return child_ended(change);
    }
  }
}

void Runner::child_ended(const ChildChange& change) {
  ChildStatus status{change.by_signal ? ChildStatus::Kind::signalled : ChildStatus::Kind::exited,
                     change.value};
  if (const int error = child_.exec_error(); error != 0) {
    status = {ChildStatus::Kind::not_started, error};
  }
  if (terminal_ && terminal_->given()) {
    // The command had the terminal, so Ctrl-C went only to its group. This sends the signal to our
    // own group too: a shell script above dlock stops only if it gets the signal, as it would
    // without dlock.
    if (change.by_signal && (change.value == SIGINT || change.value == SIGQUIT))
      ::kill(0, change.value);
    terminal_->take_back(change.by_signal);
  }
  leftovers_ = child_.group_alive();
  driver_.feed(event::ChildEnded{status, leftovers_, child_.strays()});
}

// Handles a stop of the child. After SIGSTOP it does nothing; the lease is renewed as usual. If the
// child wants the terminal and our group has it, gives the terminal to the child. Otherwise stops
// dlock too, so that the shell above sees a stopped job.
void Runner::child_stopped(int number) {
  if (number != SIGTSTP && !is_for_terminal(number)) return;
  if (is_for_terminal(number) && !terminal_) terminal_ = Terminal::of_session();
  // Without a terminal another process must have sent the signal, not the kernel.
  const bool for_terminal = is_for_terminal(number) && terminal_;
  if (for_terminal && terminal_->is_ours()) {
    terminal_->give(child_.group());
    return child_.signal_group(SIGCONT);
  }
  stop_with_child(for_terminal);
}

void Runner::stop_with_child(bool for_terminal) {
  const bool had_terminal = (terminal_ && terminal_->given()) || for_terminal;
  if (terminal_) terminal_->take_back(false);
  if (const auto until = driver_.machine().safe_until()) {
    listener_.on_stopped(*until, *until - BootClock::now());
  }
  // The shell's fg may have brought our group to the foreground meanwhile. Then dlock must not
  // stop.
  const bool wanted = !for_terminal || !terminal_->is_ours();
  // If the child has the terminal, Ctrl-Z reaches only the child's group. So dlock stops its own
  // group with itself: the other commands of its pipeline must stop too.
  const bool group_too = !std::exchange(told_to_stop_, false) && had_terminal;
  const bool stopped = wanted && signals_.stop_here(group_too);
  // dlock was not stopped, because no shell could continue it. The command stays stopped, and dlock
  // goes on renewing the lease.
  if (wanted && !stopped && for_terminal) return listener_.on_left_stopped();
  // The clock is read first: a child whose lease has ended is killed before it runs again.
  driver_.read_clock();
  driver_.feed(event::Resumed{});
  if (had_terminal && terminal_ && terminal_->is_ours()) terminal_->give(child_.group());
  child_.signal_group(SIGCONT);
}

std::vector<std::string> Runner::child_environment(const Holds& holds) const {
  std::vector<std::string> environment;
  std::vector<AncestorHold> entries;
  for (const std::string& entry : plan_.environment) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (name == "DLOCK_HOLDS") {
      entries = parse_holds(std::string_view(entry).substr(name.size() + 1));
    }
    if (!is_hold_variable(name)) environment.push_back(entry);
  }
  if (holds.empty()) {
    if (!entries.empty()) environment.push_back("DLOCK_HOLDS=" + format_holds(entries));
    return environment;
  }
  const auto own = hold_entries(plan_.store, plan_.names, plan_.keys, holds);
  entries.insert(entries.end(), own.begin(), own.end());
  environment.push_back("DLOCK_HELD=1");
  for (const Variable& variable : hold_variables(holds))
    environment.push_back(variable.name + "=" + variable.value);
  environment.push_back("DLOCK_HOLDS=" + format_holds(entries));
  return environment;
}

}  // namespace dlock
