// SPDX-License-Identifier: MIT
#include "sys/intake.hpp"

#include "base/errno_text.hpp"
#include "sys/fiber.hpp"
#include "sys/poll_limit.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace dlock {

void Intake::begin(Time limit) {
  if (limit == limit_) return;
  limit_ = limit;
  late_rounds_ = 0;
  bytes_ = 0;
}

Error Intake::flood() {
  return {Errc::protocol, "sends more than 4 MiB without an end"};
}

Wake Intake::wait_for(
    int fd, short events, const Interrupt* interrupt, Time limit, const Beside& beside) {
  const auto is_pending = [](const Stream* one) { return one != nullptr && one->pending(); };
  if (std::any_of(beside.begin(), beside.end(), is_pending))
    limit = std::min(limit, BootClock::now());
  for (;;) {
    const Time now = BootClock::now();
    const bool last = now >= limit;  // one more poll: an answer that is there counts
    std::array<pollfd, 4> fds{
        {{fd, events, 0}, polled(interrupt), {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
    for (std::size_t i = 0; i < beside.size(); ++i)
      if (beside[i] != nullptr) fds[2 + i].fd = beside[i]->fd();
    const int n = wait_ready(fds.data(), fds.size(), poll_ms(limit, now));
    if (n < 0 && errno != EINTR) return Wake::broken;
    const bool ready = n > 0 && fds[0].revents != 0;
    // If the socket takes bytes, this returns without a look at the interrupt. Sending ends soon,
    // and the work that an interrupt may start (a fork) is then done while the server answers. That
    // saves a run 0.1 ms.
    if (ready && events == POLLOUT && !last) return Wake::ready;
    // An answer that is there counts. It leaves the interrupt for the next wait, because an
    // interrupt may end only one call.
    if (ready && ((!last && fds[1].revents == 0) || may_be_late())) return Wake::ready;
    const bool interrupted = n > 0 && ends_call(interrupt, fds[1]);
    if (ready && !last && !interrupted) return Wake::ready;
    if (interrupted) return Wake::interrupted;
    for (std::size_t i = 0; n > 0 && i < beside.size(); ++i)
      if (fds[2 + i].revents != 0 && !beside[i]->idle()) return Wake::limit;
    if (last) return Wake::limit;
  }
}

Error not_ready(Wake wake, Time started, Time limit) {
  switch (wake) {
    case Wake::ready:
      break;
    case Wake::interrupted:
      return {Errc::cancelled, "interrupted"};
    case Wake::limit:
      return over_limit("no answer", started, limit);
    case Wake::broken:
      return {Errc::system, "cannot wait for a socket: " + errno_text(errno)};
  }
  DLOCK_ASSERT(wake != Wake::ready);
  return {};
}

}  // namespace dlock
