// SPDX-License-Identifier: MIT
// Fiber: blocking code with a stack of its own. It returns to its caller whenever it waits, so that
// one thread carries out several calls at the same time (makecontext(3), swapcontext(3)).
//
// A fiber waits in wait_ready() only. Any other blocking call stops the thread with all its fibers.
// The body must not throw, and must not keep across a wait what belongs to a thread (the address of
// errno, a thread_local): another thread may resume it.
#pragma once

#include "base/boot_clock.hpp"

#include <poll.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace dlock {

// As poll(2), also for fibers: in a fiber, the caller of resume() goes on, and has to resume the
// fiber once one of `fds` is ready or the time is over. With 0 ms it returns at once, even in a
// fiber.
int wait_ready(pollfd* fds, std::size_t count, int ms);

class Fiber {
 public:
  using Body = std::function<void()>;
  struct Wait {
    pollfd* fds = nullptr;  // on the fiber's stack; the caller of resume() fills in `revents`
    std::size_t count = 0;
    Time until = Time::max();
  };

  // Returns nullptr if there is no memory for its stack. The first resume() begins the body.
  static std::unique_ptr<Fiber> create(Body body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();  // the fiber must have ended, or never begun

  // Runs the fiber until it waits again or has ended. Not from inside a fiber, and from one thread
  // at a time.
  void resume();
  bool has_ended() const;
  // What the fiber has been waiting for since resume() returned.
  const Wait& waits_for() const;

  // Called in a fiber: the caller of resume() goes on; rest() returns at the next resume().
  static void rest();

 private:
  struct Context;
  explicit Fiber(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
  friend int wait_ready(pollfd* fds, std::size_t count, int ms);
};

}  // namespace dlock
