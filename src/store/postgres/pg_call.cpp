// SPDX-License-Identifier: MIT
#include "store/postgres/pg_call.hpp"

#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace dlock {
namespace {

thread_local PgCall* t_call = nullptr;

}  // namespace

PgCall::PgCall(Intake& intake, Time limit, const Interrupt* interrupt, std::size_t most)
    : intake_(intake),
      started_(BootClock::now()),
      limit_(limit),
      interrupt_(interrupt),
      most_(most),
      turn_began_(started_),
      outer_(std::exchange(t_call, this)) {
  intake_.begin(limit);
}

PgCall::~PgCall() {
  t_call = outer_;
}

Result<void> PgCall::wait(int fd, short events) {
  if (ended_) return *ended_;
  if (intake_.is_flood(most_)) return Intake::flood();
  constexpr Duration k_slow = std::chrono::milliseconds(10);
  constexpr std::size_t k_fewest = 256;
  if (BootClock::now() - turn_began_ > k_slow) turn_ = std::max(turn_ / 2, k_fewest);
  left_ = turn_;
  const Wake wake = intake_.wait_for(fd, events, interrupt_, limit_);
  turn_began_ = BootClock::now();
  return wake == Wake::ready ? Result<void>() : not_ready(wake, started_, limit_);
}

ssize_t PgCall::read(int fd, void* buffer, std::size_t size, int flags) {
  if (left_ == 0 || ended_) {
    errno = EAGAIN;
    return -1;
  }
  const ssize_t n = ::recvfrom(fd, buffer, std::min(size, left_), flags, nullptr, nullptr);
  if (n <= 0) return n;
  left_ -= static_cast<std::size_t>(n);
  intake_.took(static_cast<std::size_t>(n));
  return n;
}

// Returns whether libpq may compute one more round of SCRAM. A round takes a microsecond, so the
// limit and the interrupt are tested only once in 1000 rounds.
bool PgCall::may_compute() {
  constexpr unsigned k_at_once = 1000;
  if (++rounds_ % k_at_once != 0 || ended_) return !ended_;
  const Wake wake = Intake().wait_for(-1, 0, interrupt_, std::min(limit_, BootClock::now()));
  if (wake == Wake::interrupted || BootClock::now() >= limit_)
    ended_ = not_ready(wake, started_, limit_);
  return !ended_;
}

}  // namespace dlock

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): names of libraries
extern "C" {
struct hmac_ctx_st;
struct evp_md_st;
struct engine_st;

// Takes the place of recv(2) in this process.
[[gnu::visibility("default")]] ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  dlock::PgCall* const call = dlock::t_call;
  if (call != nullptr) return call->read(fd, buffer, size, flags);
  return ::recvfrom(fd, buffer, size, flags, nullptr, nullptr);
}

#if DLOCK_WRAPS_HMAC
int __real_HMAC_Init_ex(hmac_ctx_st*, const void*, int, const evp_md_st*, engine_st*);
#define DLOCK_HMAC_INIT __wrap_HMAC_Init_ex
#define DLOCK_OPENSSL_HMAC_INIT __real_HMAC_Init_ex
#else
#define DLOCK_HMAC_INIT HMAC_Init_ex
#define DLOCK_OPENSSL_HMAC_INIT openssl
#endif
[[gnu::visibility("default")]] int DLOCK_HMAC_INIT(
    hmac_ctx_st* context, const void* key, int size, const evp_md_st* digest, engine_st* engine) {
#if !DLOCK_WRAPS_HMAC
  static const auto openssl =
      reinterpret_cast<decltype(&HMAC_Init_ex)>(::dlsym(RTLD_NEXT, "HMAC_Init_ex"));
#endif
  if (dlock::t_call != nullptr && !dlock::t_call->may_compute()) return 0;
  return DLOCK_OPENSSL_HMAC_INIT(context, key, size, digest, engine);
}
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
