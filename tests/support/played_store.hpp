// SPDX-License-Identifier: MIT
// PlayedStore: a store and its thread in fake time. It answers one ask after the other, each with
// the trouble that the test has planned. The test decides what the store answers if there is no
// trouble.
#pragma once

#include "core/ask.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace dlock::test {

using What = action::Ask::What;

// Longer than any time in these tests.
constexpr Duration k_ever = std::chrono::hours(24);

// What goes wrong with asks that begin from `from` until before `until`.
struct Trouble {
  enum class Kind {
    silent,        // the request is lost: no answer within its limit
    answers_lost,  // the request is executed, the answer is lost
    error,         // the answer is the error `code`, at once
    slow,          // the answer takes `delay`
    hung,          // the call never returns, not even when it is interrupted
  };
  Duration from{};
  Duration until{};
  Kind kind = Kind::silent;
  Errc code = Errc::unavailable;
  Duration delay{};
  std::optional<What> only;      // nullopt: all kinds of asks
  Reach reach = Reach::request;  // Error::reach
};

// A message to a waiter that listens.
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

  // Returns the answer without trouble. Called when the ask begins.
  std::function<StoreAnswer(const action::Ask&, Time now)> carry_out;
  // Returns the answer to an interrupted ask; nullopt: Errc::cancelled.
  std::function<std::optional<StoreAnswer>(What)> despite_cancel = [](What) {
    return std::optional<StoreAnswer>();
  };

  // Begins an ask. `entry` is returned with the answer.
  void ask(const action::Ask& ask, std::size_t entry, Time now);
  void cancel(Time now);
  // Returns the running ask; null: there is no such ask.
  const action::Ask* running() const { return running_ ? &running_->ask : nullptr; }
  // Returns when the next answer is due; nullopt: never.
  std::optional<Time> next() const;
  Answered answer(Time now);

 private:
  struct Running {
    action::Ask ask;
    std::size_t entry = 0;
    Time answer_at;
    StoreAnswer answer;
    bool message = false;  // the answer is the next message
  };

  void begin_next(Time now);
  const Trouble* trouble_for(What what, Time now) const;
  // Returns the time until the next message that comes before `until`; nullopt: no message comes.
  std::optional<Duration> message_in(Time until, Time now);

  PlayedStoreTerms terms_;
  Time start_;
  std::deque<std::pair<action::Ask, std::size_t>> waiting_;  // asks that begin after running_
  std::optional<Running> running_;
  std::size_t next_hand_off_ = 0;
};

}  // namespace dlock::test
