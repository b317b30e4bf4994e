// SPDX-License-Identifier: MIT
#include "support/played_store.hpp"

#include <algorithm>
#include <utility>

#include "support/world_words.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

void PlayedStore::ask(const action::Ask& ask, std::size_t entry, Time now) {
  waiting_.emplace_back(ask, entry);
  if (running_ && gives_way(running_->ask.what, ask.what)) cancel(now);
  if (!running_) begin_next(now);
}

void PlayedStore::cancel(Time now) {
  if (!running_ || running_->answer_at == Time::max()) return;
  if (std::exchange(running_->message, false)) {
    if (running_->answer_at <= now) return;  // the answer has come already
    --next_hand_off_;
  }
  const What what = running_->ask.what;
  running_->answer = despite_cancel(what).value_or(failed(what, {Errc::cancelled, "cancelled"}));
  running_->answer_at = now;
}

std::optional<Time> PlayedStore::next() const {
  if (!running_ || running_->answer_at == Time::max()) return {};
  return running_->answer_at;
}

PlayedStore::Answered PlayedStore::answer(Time now) {
  Running done = std::move(*running_);
  running_.reset();
  if (!waiting_.empty()) begin_next(now);
  return {done.ask, done.entry, std::move(done.answer)};
}

const Trouble* PlayedStore::trouble_for(What what, Time now) const {
  const Duration since = now - start_;
  for (const Trouble& one : terms_.troubles) {
    if (since >= one.from && since < one.until && (!one.only || *one.only == what)) return &one;
  }
  return nullptr;
}

std::optional<Duration> PlayedStore::message_in(Time until, Time now) {
  if (next_hand_off_ == terms_.hand_offs.size()) return {};
  const Time when = start_ + terms_.hand_offs[next_hand_off_].when;
  if (when > until) return {};
  ++next_hand_off_;
  return std::max<Duration>(when - now, 0s);
}

void PlayedStore::begin_next(Time now) {
  const auto [ask, entry] = waiting_.front();
  waiting_.pop_front();
  const Time limit = std::max(ask.limit, now);
  const Trouble* const trouble = trouble_for(ask.what, now);
  Running running{.ask = ask,
                  .entry = entry,
                  .answer_at = now + terms_.latency,
                  .answer = failed(ask.what, {Errc::timed_out, "no answer"})};
  if (ask.what == terms_.refused) {
    running.answer = failed(ask.what, {Errc::refused, "no news here"});
  } else if (ask.what == What::await_hand_off && !trouble) {
    const auto takes = message_in(limit, now);
    running.message = takes.has_value();
    running.answer_at = takes ? now + *takes : limit;
    running.answer =
        event::HandedOff{takes ? terms_.hand_offs[next_hand_off_ - 1].what : HandOff::timed_out};
  } else if (trouble && trouble->kind == Trouble::Kind::error) {
    running.answer = failed(ask.what, {trouble->code, "trouble", trouble->reach});
  } else if (trouble && trouble->kind != Trouble::Kind::slow) {
    if (trouble->kind == Trouble::Kind::answers_lost) carry_out(ask, now);
    running.answer_at = trouble->kind == Trouble::Kind::hung ? Time::max() : limit;
  } else {
    StoreAnswer answer = carry_out(ask, now);
    if (trouble) running.answer_at = now + trouble->delay;
    if (running.answer_at > limit) {
      running.answer_at = limit;
    } else {
      running.answer = std::move(answer);
    }
  }
  running_ = std::move(running);
}

}  // namespace dlock::test
