// SPDX-License-Identifier: MIT
#include "sys/fiber.hpp"

#include "base/assert.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace dlock {

namespace {

// The size of the stack. A TLS handshake takes 30 KiB of it; pages that are never touched take no
// memory.
constexpr std::size_t k_stack_bytes = 512UL * 1024;

thread_local Fiber* t_running = nullptr;

}  // namespace

struct Fiber::Context {
  // A stack. The page below it cannot be accessed, so that an overflow ends the process.
  class Stack {
   public:
    Stack()
        : guard_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
          memory_(::mmap(nullptr,
                         guard_ + k_stack_bytes,
                         PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE,
                         -1,
                         0)) {
      if (memory_ != MAP_FAILED) ::mprotect(memory_, guard_, PROT_NONE);
    }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;
    ~Stack() {
      if (memory_ != MAP_FAILED) ::munmap(memory_, guard_ + k_stack_bytes);
    }
    bool ok() const { return memory_ != MAP_FAILED; }
    void* bottom() const { return static_cast<char*>(memory_) + guard_; }

   private:
    std::size_t guard_;
    void* memory_;
  };

  // Tells the sanitizers which stack is in use.
  struct Sanitizers {
#ifdef __SANITIZE_ADDRESS__
    void* own_fake = nullptr;
    const void* caller_bottom = nullptr;
    std::size_t caller_size = 0;
    void* caller_fake = nullptr;
    void before_resume(const Stack& stack) {
      __sanitizer_start_switch_fiber(&caller_fake, stack.bottom(), k_stack_bytes);
    }
    void after_resume() {
      __sanitizer_finish_switch_fiber(caller_fake, nullptr, nullptr);
    }
    void before_leave(bool last) {
      __sanitizer_start_switch_fiber(last ? nullptr : &own_fake, caller_bottom, caller_size);
    }
    void entered() {
      __sanitizer_finish_switch_fiber(own_fake, &caller_bottom, &caller_size);
    }
#elif defined __SANITIZE_THREAD__
    void* own = __tsan_create_fiber(0);
    void* caller = nullptr;
    ~Sanitizers() {
      __tsan_destroy_fiber(own);
    }
    void before_resume(const Stack& /*stack*/) {
      caller = __tsan_get_current_fiber();
      __tsan_switch_to_fiber(own, 0);
    }
    void after_resume() {}
    void before_leave(bool /*last*/) {
      __tsan_switch_to_fiber(caller, 0);
    }
    void entered() {}
#else
    void before_resume(const Stack& /*stack*/) {}
    void after_resume() {}
    void before_leave(bool /*last*/) {}
    void entered() {}
#endif
  };

  Stack stack;
  Body body;
  ucontext_t own{};
  ucontext_t caller{};
  Sanitizers sanitizers;
  Wait wait;
  bool begun = false;
  bool ended = false;

  void leave() {
    sanitizers.before_leave(ended);
    ::swapcontext(&own, &caller);
    sanitizers.entered();
  }
  void run() {
    sanitizers.entered();
    body();
    ended = true;
    wait = {};
    leave();
  }
  // The first resume() begins here. makecontext(3) passes no pointer, so this finds the fiber by
  // t_running.
  static void enter() {
    t_running->context_->run();
  }
};

std::unique_ptr<Fiber> Fiber::create(Body body) {
  auto context = std::make_unique<Context>();
  if (!context->stack.ok() || ::getcontext(&context->own) != 0) return nullptr;
  context->body = std::move(body);
  context->own.uc_stack.ss_sp = context->stack.bottom();
  context->own.uc_stack.ss_size = k_stack_bytes;
  ::makecontext(&context->own, &Context::enter, 0);
  return std::unique_ptr<Fiber>(new Fiber(std::move(context)));
}

Fiber::Fiber(std::unique_ptr<Context> context) : context_(std::move(context)) {}

Fiber::~Fiber() {
  DLOCK_ASSERT(context_->ended || !context_->begun);
}

void Fiber::resume() {
  DLOCK_ASSERT(t_running == nullptr && !context_->ended);
  t_running = this;
  context_->begun = true;
  context_->sanitizers.before_resume(context_->stack);
  ::swapcontext(&context_->caller, &context_->own);
  context_->sanitizers.after_resume();
  t_running = nullptr;
}

bool Fiber::has_ended() const {
  return context_->ended;
}

const Fiber::Wait& Fiber::waits_for() const {
  return context_->wait;
}

void Fiber::rest() {
  DLOCK_ASSERT(t_running != nullptr);
  wait_ready(nullptr, 0, -1);
}

int wait_ready(pollfd* fds, std::size_t count, int ms) {
  const Fiber* const fiber = t_running;
  if (fiber == nullptr || ms == 0) return ::poll(fds, count, ms);
  Fiber::Context& context = *fiber->context_;
  context.wait = {.fds = fds, .count = count, .until = Time::max()};
  if (ms > 0) context.wait.until = BootClock::now() + std::chrono::milliseconds(ms);
  std::for_each(fds, fds + count, [](pollfd& one) { one.revents = 0; });
  context.leave();
  return static_cast<int>(
      std::count_if(fds, fds + count, [](const pollfd& one) { return one.revents != 0; }));
}

}  // namespace dlock
