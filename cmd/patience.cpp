// SPDX-License-Identifier: MIT
#include "cmd/patience.hpp"

#include <unistd.h>

namespace dlock {

bool may_be_asked_again(const Error& error) {
  return error.code == Errc::unavailable || error.code == Errc::timed_out ||
         error.code == Errc::no_such_host || error.code == Errc::not_listening;
}

void pause_between_tries() {
  ::usleep(static_cast<useconds_t>(k_pause_between_tries / std::chrono::microseconds(1)));
}

}  // namespace dlock
