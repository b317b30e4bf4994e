// SPDX-License-Identifier: MIT
#include "cmd/output.hpp"

#include "base/errno_text.hpp"
#include "core/signal_policy.hpp"
#include "sys/poll_limit.hpp"

#include <climits>

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace dlock {

namespace {

Error cannot_write(const std::string& why) {
  return {Errc::system, "cannot write the answer: " + why};
}

bool asked_to_end(const Signals& signals) {
  while (const auto number = signals.next()) {
    if (use_of(*number, /*has_command=*/false) == SignalUse::deliver) return true;
  }
  return false;
}

// Returns how many bytes were written; 0: try again.
Result<std::size_t> write_some(std::string_view text) {
  const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
  if (n >= 0) return static_cast<std::size_t>(n);
  if (errno == EINTR || errno == EAGAIN) return std::size_t{0};
  return cannot_write(errno_text(errno));
}

}  // namespace

Result<void> write_out(std::string_view text) {
  while (!text.empty()) {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};  // waits for room if stdout is non-blocking
    ::poll(&out, 1, -1);
    auto n = write_some(text);
    if (!n) return n.error();
    text.remove_prefix(*n);
  }
  return {};
}

Result<void> write_out_until(std::string_view text, Time until, const Signals& signals) {
  while (!text.empty()) {
    const int pause = poll_ms(until, BootClock::now());
    if (pause == 0) return cannot_write("standard output is blocked");
    std::array<pollfd, 2> fds{pollfd{STDOUT_FILENO, POLLOUT, 0}, pollfd{signals.fd(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), pause);
    if (asked_to_end(signals)) return cannot_write("ended by a signal");
    if (fds[0].revents == 0) continue;
    // A pipe that is ready for writing takes PIPE_BUF bytes without blocking.
    auto n = write_some(text.substr(0, PIPE_BUF));
    if (!n) return n.error();
    text.remove_prefix(*n);
  }
  return {};
}

}  // namespace dlock
