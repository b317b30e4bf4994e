// SPDX-License-Identifier: MIT
// WakeUp: an eventfd(2) with which one thread wakes another out of poll(2), or ends its call. It
// stays raised until clear(), so that a wake-up before the sleep is not lost.
#pragma once

#include "base/assert.hpp"
#include "sys/interrupt.hpp"
#include "sys/unique_fd.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>

namespace dlock {

class WakeUp : public Interrupt {
 public:
  WakeUp() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), error_(fd_ ? 0 : errno) {}

  int error() const { return error_; }           // errno if it cannot work, otherwise 0
  int fd() const override { return fd_.get(); }  // readable while raised
  bool ends_call() const override { return true; }
  void raise() const {
    const std::uint64_t one = 1;
    // Fails only with EAGAIN, if it was already raised about 2^64 times.
    [[maybe_unused]] const auto n = ::write(fd_.get(), &one, sizeof one);
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto n = ::read(fd_.get(), &count, sizeof count);
  }

 private:
  UniqueFd fd_;
  int error_;
};

}  // namespace dlock
