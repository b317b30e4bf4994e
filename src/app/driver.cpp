// SPDX-License-Identifier: MIT
#include "app/driver.hpp"

#include <poll.h>

#include <array>

namespace dlock {

EventSources::Ready EventSources::wait(std::optional<Time> deadline) {
  timer_.set(deadline);
  // poll(2) passes over negative descriptors.
  std::array<pollfd, 4> fds{pollfd{timer_.fd(), POLLIN, 0},
                            pollfd{answers_fd_, POLLIN, 0},
                            pollfd{signals_ != nullptr ? signals_->fd() : -1, POLLIN, 0},
                            pollfd{process_fd_, POLLIN, 0}};
  ::poll(fds.data(), fds.size(), -1);
  return {.signals = fds[2].revents != 0,
          .answers = fds[1].revents != 0,
          .process = fds[3].revents != 0};
}

}  // namespace dlock
