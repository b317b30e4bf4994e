// SPDX-License-Identifier: MIT
#include "core/acquire_loop.hpp"

#include "base/duration.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// Other locks (SET NX) have no channel: ask as often as their own clients do (redisson.md 10.5).
constexpr Duration k_foreign_poll_least = 50ms;
constexpr Duration k_foreign_poll_most = 250ms;
// Not every holder of a hash publishes (RSpinLock), and messages can be lost: look now and then.
constexpr Duration k_watch_poll_least = 3s;
constexpr Duration k_watch_poll_most = 5s;
constexpr Duration k_blind_poll_least = 50ms;
constexpr Duration k_blind_poll_most = 500ms;
// After the lease ran out: a little later, and not all together.
constexpr Duration k_expiry_slack = 20ms;

bool never_helped_by_asking_again(Errc code) {
  return code == Errc::denied || code == Errc::bad_usage || code == Errc::bad_config ||
         code == Errc::system;
}

}  // namespace

AcquireLoop::AcquireLoop(const AcquireTerms& terms, std::uint64_t seed, Time now)
    : terms_(terms),
      started_at_(now),
      last_contact_(now),
      jitter_(seed),
      backoff_(50ms, 1s),
      watch_backoff_(50ms, 1s) {
  if (terms.wait) deadline_ = now + *terms.wait;
}

// A try at the very end of -w still gets a fair chance of an answer.
Time AcquireLoop::try_limit(Time now) const {
  const Time limit = now + terms_.connect_timeout;
  if (!deadline_ || terms_.wait == Duration::zero()) return limit;
  return std::min(limit,
                  std::max(*deadline_, now + std::min<Duration>(terms_.connect_timeout, 1s)));
}

AcquireStep AcquireLoop::on_acquire(Result<AcquireReply> answer, Time now) {
  if (!answer) {
    // Whatever went wrong on the way, the request may have arrived.
    maybe_held_ = true;
    return on_trouble(answer.error(), now);
  }
  maybe_held_ = false;
  had_contact_ = true;
  last_contact_ = now;
  trouble_since_.reset();
  backoff_.reset();
  if (auto* grant = std::get_if<Grant>(&*answer)) return step::Granted{std::move(*grant)};
  return on_busy(std::get<Holding>(std::move(*answer)), now);
}

AcquireStep AcquireLoop::on_busy(Holding holding, Time now) {
  holding_ = std::move(holding);
  if (out_of_time(now)) return step::Busy{*holding_};
  if (!watching_ && polling_because_.empty()) return step::Watch{try_limit(now)};
  return wait_for_change(now);
}

AcquireStep AcquireLoop::on_watch(const Result<void>& answer, Time now) {
  if (answer) {
    watching_ = true;
    return step::Try{try_limit(now)};  // it may have been released before the watch was up
  }
  if (answer.error().code == Errc::denied || answer.error().code == Errc::refused) {
    polling_because_ = answer.error().text;
    return wait_for_change(now);
  }
  return on_trouble(answer.error(), now);
}

AcquireStep AcquireLoop::on_hand_off(const Result<HandOff>& answer, Time now) {
  if (!answer) {
    // The link broke; the next busy answer watches again. Not at once: it may break each time.
    watching_ = false;
    const Time until = now + watch_backoff_.next(jitter_);
    return step::Sleep{deadline_ ? std::min(until, *deadline_) : until};
  }
  watch_backoff_.reset();
  if (out_of_time(now) && holding_ && *answer == HandOff::timed_out) return step::Busy{*holding_};
  return step::Try{try_limit(now)};
}

AcquireStep AcquireLoop::wait_for_change(Time now) {
  Duration pause = watching_ ? jitter_.between(k_watch_poll_least, k_watch_poll_most)
                             : jitter_.between(k_blind_poll_least, k_blind_poll_most);
  if (holding_->kind == Holding::Kind::foreign) {
    pause = std::min(pause, jitter_.between(k_foreign_poll_least, k_foreign_poll_most));
  }
  if (holding_->lease_left) {
    const Duration expiry =
        std::max<Duration>(*holding_->lease_left, 0ms) + jitter_.between(1ms, k_expiry_slack);
    pause = std::min(pause, expiry);
  }
  Time until = now + pause;
  if (deadline_) until = std::min(until, *deadline_);
  if (watching_) return step::Await{until};
  if (out_of_time(now)) return step::Busy{*holding_};
  return step::Sleep{until};
}

AcquireStep AcquireLoop::on_trouble(const Error& error, Time now) {
  watching_ = false;
  if (never_helped_by_asking_again(error.code)) return step::Failed{error};
  const bool refused = error.code == Errc::refused || error.code == Errc::protocol;
  if (refused && !had_contact_) return step::Failed{error};
  const Duration budget = had_contact_ ? terms_.outage_limit : terms_.connect_timeout;
  if (!trouble_since_) trouble_since_ = had_contact_ ? now : started_at_;
  Time give_up = *trouble_since_ + budget;
  if (deadline_ && terms_.wait != Duration::zero()) give_up = std::min(give_up, *deadline_);
  if (now >= give_up) return step::Failed{error};
  return step::Sleep{std::min(now + backoff_.next(jitter_), give_up)};
}

}  // namespace dlock
