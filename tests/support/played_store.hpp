// SPDX-License-Identifier: MIT
// A store in fake time, and the thread that asks it: one ask after the other, each with its
// trouble. What a store answers when all goes well is up to the test.
#pragma once

#include "core/ask.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace dlock::test {

using What = action::Ask::What;

// Longer than anything in these worlds takes.
constexpr Duration k_ever = std::chrono::hours(24);

// From `from` until before `until`, what the store is asked does not go as it should.
struct Trouble {
  enum class Kind {
    silent,        // the request is lost: no answer within its limit
    answers_lost,  // it is carried out, the answer is lost
    error,         // an answer at once: `code`
    slow,          // the answer takes `delay`
    hung,          // the store thread never comes back, also when it is asked to
  };
  Duration from{};
  Duration until{};
  Kind kind = Kind::silent;
  Errc code = Errc::unavailable;
  Duration delay{};
  std::optional<What> only;  // nullopt: every ask
};

// A message to a waiter, once it listens.
struct Message {
  Duration when{};
  HandOff what = HandOff::changed;
};

struct PlayedStoreTerms {
  Duration latency{};
  std::vector<Trouble> troubles;
  std::vector<Message> hand_offs;
  std::optional<What> refused;  // the store has no such service; this answer has no trouble
};

// All times count from `start`.
class PlayedStore {
 public:
  struct Answered {
    action::Ask ask;
    std::size_t entry = 0;
    StoreAnswer answer;
  };

  PlayedStore(PlayedStoreTerms terms, Time start) : terms_(std::move(terms)), start_(start) {}

  // The answer of a store to which nothing happens; called when the ask begins.
  std::function<StoreAnswer(const action::Ask&, Time now)> carry_out;
  // Instead of Errc::cancelled, for an ask that was interrupted; nullopt: as usual.
  std::function<std::optional<StoreAnswer>(What)> despite_cancel = [](What) {
    return std::optional<StoreAnswer>();
  };

  // `entry` comes back with the answer.
  void ask(const action::Ask& ask, std::size_t entry, Time now);
  void cancel(Time now);
  // The ask that runs.
  const action::Ask* running() const { return running_ ? &running_->ask : nullptr; }
  // When the next answer is due; nullopt: never.
  std::optional<Time> next() const;
  Answered answer(Time now);

 private:
  struct Running {
    action::Ask ask;
    std::size_t entry = 0;
    Time answer_at;
    StoreAnswer answer;
    bool message = false;  // the next of the hand-offs
  };

  void begin_next(Time now);
  const Trouble* trouble_for(What what, Time now) const;
  // Until the next message at most `until`; nullopt: there is none.
  std::optional<Duration> message_in(Time until, Time now);

  PlayedStoreTerms terms_;
  Time start_;
  std::deque<std::pair<action::Ask, std::size_t>> waiting_;  // behind running_
  std::optional<Running> running_;
  std::size_t next_hand_off_ = 0;
};

}  // namespace dlock::test
