// SPDX-License-Identifier: MIT
#include "app/acquirer.hpp"

#include <poll.h>

#include <array>
#include <utility>

namespace dlock {

Acquirer::Acquirer(RunSession session,
                   StoreWorker& worker,
                   const Signals& signals,
                   Listener& listener,
                   TakeOver take_over)
    : session_(std::move(session)),
      worker_(worker),
      signals_(signals),
      listener_(listener),
      take_over_(std::move(take_over)) {}

Result<std::optional<Outcome>> Acquirer::run() {
  if (!timer_.ok()) return Error{Errc::system, "cannot make a timer: too many open files"};
  now_ = BootClock::now();
  carry_out(session_.start(now_));
  auto started = worker_.start();
  if (!started) return started.error();
  while (!outcome_ && !taken_)
    turn();
  return outcome_;
}

void Acquirer::turn() {
  timer_.set(session_.next_deadline());
  std::array<pollfd, 3> fds{pollfd{signals_.fd(), POLLIN, 0},
                            pollfd{timer_.fd(), POLLIN, 0},
                            pollfd{worker_.fd(), POLLIN, 0}};
  ::poll(fds.data(), fds.size(), -1);
  now_ = BootClock::now();
  if (session_.next_deadline().value_or(Time::max()) <= now_) feed(event::Tick{});
  while (const auto number = signals_.next()) {
    if (*number == SIGTSTP) {
      signals_.stop_here();
      now_ = BootClock::now();  // perhaps hours later
    } else if (Signals::ends_by_default(*number)) {
      feed(event::Signal{*number});
    }
  }
  while (auto answer = worker_.next_answer()) {
    std::visit([this](auto& what) { feed(std::move(what)); }, *answer);
  }
}

void Acquirer::feed(Event event) {
  if (!outcome_ && !taken_) carry_out(session_.on(std::move(event), now_));
}

void Acquirer::carry_out(std::vector<Action> actions) {
  for (Action& action : actions) {
    std::visit([this](auto& what) { carry_out_one(what); }, action);
  }
}

void Acquirer::carry_out_one(action::StartChild& start) {
  auto taken = take_over_(start.holds, session_.safe_until().value_or(now_));
  taken_ = taken.has_value();
  if (taken_) return;
  now_ = BootClock::now();
  feed(event::StartFailed{taken.error()});
}

}  // namespace dlock
