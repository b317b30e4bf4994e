// SPDX-License-Identifier: MIT
#include "app/side_commands.hpp"

#include "core/signal_policy.hpp"

#include <poll.h>

#include <algorithm>

namespace dlock {

namespace {

// More than the limit, because a watcher may have been stopped and then reports nothing.
constexpr Duration k_longest_wait =
    SideCommand::k_limit + SideCommand::k_grace + std::chrono::seconds(1);

// Returns whether a signal came that ends dlock.
bool told_to_end(const Signals& signals) {
  while (const auto number = signals.next()) {
    const SignalUse use = use_of(*number, false);
    if (use == SignalUse::deliver) return true;
    if (use == SignalUse::stop) signals.stop_here();
  }
  return false;
}

}  // namespace

void wait_for(const std::vector<SideCommand>& commands, const Signals& signals) {
  const Time limit = BootClock::now() + k_longest_wait;
  std::vector<pollfd> fds{{signals.fd(), POLLIN, 0}};
  for (const SideCommand& command : commands)
    fds.push_back({command.fd(), 0, 0});  // POLLHUP comes unasked
  while (fds.size() > 1) {
    const Duration left = limit - BootClock::now();
    if (left <= Duration::zero()) return;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(fds.data(), fds.size(), static_cast<int>(ms)) < 0) return;
    if (fds.front().revents != 0 && told_to_end(signals)) return;
    const auto ended = [](const pollfd& one) { return (one.revents & POLLHUP) != 0; };
    fds.erase(std::remove_if(fds.begin() + 1, fds.end(), ended), fds.end());
  }
}

}  // namespace dlock
