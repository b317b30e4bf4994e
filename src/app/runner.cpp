// SPDX-License-Identifier: MIT
#include "app/runner.hpp"

#include "app/hold_variables.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// How often to look whether the last of the group is gone. Adopted ones tell by SIGCHLD; this is
// for those whose parent lives outside the group.
constexpr Duration k_look_for_leftovers = 20ms;
constexpr Duration k_look_for_contained = 1s;  // they may live for days

}  // namespace

Runner::Runner(RunPlan plan,
               RunSession session,
               StoreWorker& worker,
               const Signals& signals,
               Child child,
               Listener& listener)
    : plan_(std::move(plan)),
      session_(std::move(session)),
      worker_(worker),
      signals_(signals),
      child_(std::move(child)),
      listener_(listener),
      terminal_(Terminal::of_stdin()) {}

Result<Outcome> Runner::run() {
  if (!timer_.ok()) return Error{Errc::system, "cannot make a timer: too many open files"};
  now_ = BootClock::now();
  carry_out(session_.start(now_));
  // Started with its first task already in hand: that saves a wake-up.
  auto started = worker_.start();
  if (!started) return started.error();
  // While the store thinks, so that it costs no time. If it fails, StartChild tries again and
  // tells.
  static_cast<void>(child_.start_guard());
  while (!outcome_)
    turn();
  return *outcome_;
}

void Runner::turn() {
  std::optional<Time> deadline = session_.next_deadline();
  if (leftovers_) {
    const Duration pause = plan_.contain ? k_look_for_contained : k_look_for_leftovers;
    deadline = std::min(deadline.value_or(Time::max()), now_ + pause);
  }
  timer_.set(deadline);
  std::array<pollfd, 3> fds{pollfd{signals_.fd(), POLLIN, 0},
                            pollfd{timer_.fd(), POLLIN, 0},
                            pollfd{worker_.fd(), POLLIN, 0}};
  ::poll(fds.data(), fds.size(), -1);
  now_ = BootClock::now();
  // Time first: whatever came in, a deadline that has passed is acted on before.
  if (session_.next_deadline().value_or(Time::max()) <= now_) feed(event::Tick{});
  if (fds[0].revents != 0) take_signals();
  if (fds[2].revents != 0) take_answers();
  if (leftovers_ && !outcome_ && !child_.group_alive()) {
    leftovers_ = false;
    feed(event::GroupGone{});
  }
}

void Runner::feed(Event event) {
  if (!outcome_) carry_out(session_.on(std::move(event), now_));
}

void Runner::carry_out(std::vector<Action> actions) {
  for (Action& action : actions) {
    std::visit([this](auto& what) { carry_out_one(what); }, action);
  }
}

void Runner::carry_out_one(action::Ask& ask) {
  worker_.ask(ask);
  if (ask.what == action::Ask::What::watch) child_.drop_guard();
  // The group is gone, or never was.
  if (ask.what == action::Ask::What::release) child_.end_group();
}

void Runner::guarded(const std::string& trouble) {
  if (!trouble.empty()) listener_.on_guard(trouble);
}

void Runner::carry_out_one(action::StartChild& start) {
  const bool hand_over = terminal_ && terminal_->stdout_too() && terminal_->is_ours();
  const ChildSpec spec{.words = plan_.words,
                       .environment = child_environment(start.holds),
                       .mark = format_holds(hold_entries(plan_.store, plan_.keys, start.holds)),
                       .terminal = hand_over ? terminal_->fd() : -1,
                       .kill_at = start.kill_at};
  auto started = child_.start(spec, signals_);
  if (!started) return feed(event::StartFailed{started.error()});
  if (hand_over) terminal_->note_given();
  listener_.on_started(child_.group());
}

void Runner::carry_out_one(action::Finish& finish) {
  child_.reap();
  outcome_ = std::move(finish.outcome);
}

void Runner::take_signals() {
  while (const auto number = signals_.next()) {
    switch (*number) {
      case SIGCHLD:
        guarded(child_.look_at_guard());
        look_at_child();
        break;
      case SIGCONT:
        told_to_stop_ = false;
        break;  // we run, that is all
      case SIGTSTP:
        // Meant for us alone, or the terminal has sent it to all of our group. The child's stop is
        // what stops us.
        if (session_.has_child()) {
          told_to_stop_ = true;
          child_.signal_group(SIGTSTP);
        } else {
          signals_.stop_here();
          now_ = BootClock::now();  // perhaps hours later
        }
        break;
      default:
        if (session_.has_child() ? *number != SIGPIPE : Signals::ends_by_default(*number)) {
          feed(event::Signal{*number});
        }
    }
  }
}

void Runner::take_answers() {
  while (auto answer = worker_.next_answer()) {
    std::visit([this](auto& what) { feed(std::move(what)); }, *answer);
  }
}

void Runner::look_at_child() {
  for (;;) {
    const ChildNews news = child_.news();
    switch (news.kind) {
      case ChildNews::Kind::none:
        return;
      case ChildNews::Kind::continued:
        break;
      case ChildNews::Kind::stopped:
        child_stopped(news.value);
        break;
      case ChildNews::Kind::ended:
        return child_ended(news);
    }
  }
}

void Runner::child_ended(const ChildNews& news) {
  ChildStatus status{news.by_signal ? ChildStatus::Kind::signalled : ChildStatus::Kind::exited,
                     news.value};
  if (const int error = child_.exec_error(); error != 0) {
    status = {ChildStatus::Kind::not_started, error};
  }
  if (terminal_ && terminal_->given()) {
    // Ctrl-C went to the group that had the terminal. A shell script above us stops only if it got
    // the signal as well, as it would have without us.
    if (news.by_signal && (news.value == SIGINT || news.value == SIGQUIT)) ::kill(0, news.value);
    terminal_->take_back(news.by_signal);
  }
  leftovers_ = child_.group_alive();
  feed(event::ChildEnded{status, leftovers_, child_.strays()});
}

// A stop from outside (SIGSTOP) is left alone and the lease renewed as usual; one from the terminal
// stops us too, so that the shell above sees a stopped job.
void Runner::child_stopped(int number) {
  const bool for_terminal = number == SIGTTIN || number == SIGTTOU;
  if (number != SIGTSTP && !for_terminal) return;
  if (for_terminal) {
    if (!terminal_) terminal_ = Terminal::of_session();
    if (terminal_ && terminal_->is_ours()) {
      terminal_->give(child_.group());
      return child_.signal_group(SIGCONT);
    }
  }
  stop_with_child(for_terminal);
}

void Runner::stop_with_child(bool for_terminal) {
  const bool had_terminal = (terminal_ && terminal_->given()) || for_terminal;
  if (terminal_) terminal_->take_back(false);
  if (const auto until = session_.safe_until()) {
    listener_.on_stopped(*until, *until - BootClock::now());
  }
  // Meanwhile fg may have brought us to the foreground: a stop now would be one too many.
  const bool wanted = !for_terminal || !terminal_ || !terminal_->is_ours();
  // Ctrl-Z on a terminal that the child has reaches the child's group only. Here that is made up
  // for: the rest of a pipeline stops with us.
  const bool group_too = !std::exchange(told_to_stop_, false) && had_terminal;
  const bool stopped = wanted && signals_.stop_here(group_too);
  // Nobody above us could continue it: it stays stopped, and we go on renewing.
  if (wanted && !stopped && for_terminal) return listener_.on_left_stopped();
  // The clock first: a child whose lease has lapsed is killed before it runs another instruction.
  now_ = BootClock::now();
  feed(event::Resumed{});
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
  const auto own = hold_entries(plan_.store, plan_.keys, holds);
  entries.insert(entries.end(), own.begin(), own.end());
  environment.push_back("DLOCK_HELD=1");
  for (const Variable& variable : hold_variables(holds))
    environment.push_back(variable.name + "=" + variable.value);
  environment.push_back("DLOCK_HOLDS=" + format_holds(entries));
  return environment;
}

}  // namespace dlock
