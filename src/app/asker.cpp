// SPDX-License-Identifier: MIT
#include "app/asker.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

Asker::Asker(std::unique_ptr<LockStore> store,
             InterruptSlot& interrupt,
             Listener& listener,
             Duration notice_every,
             StoreCalls calls)
    : listener_(listener),
      notice_every_(notice_every),
      worker_(
          std::move(store),
          [this, calls = std::move(calls)](LockStore& at, const action::Ask& ask) -> StoreAnswer {
            if (ask.what != action::Ask::What::call) return calls(at, ask);
            return event::Called{call_(at, ask.limit)};
          },
          interrupt) {}

std::optional<Error> Asker::repeat(Time until, Call call) {
  call_ = std::move(call);
  const Time now = BootClock::now();
  const RetryTerms terms{.within = std::max<Duration>(until - now, Duration::zero()),
                         .had_contact = had_contact_,
                         .notice_every = notice_every_};
  const auto ended =
      Driver<RetryLoop>(RetryLoop(terms, random_seed(), now), worker_, listener_).run();
  if (!ended) return ended.error();
  had_contact_ = had_contact_ || !ended->error;
  return ended->error;
}

}  // namespace dlock
