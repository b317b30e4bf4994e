// SPDX-License-Identifier: MIT
// RenewLoop: `dlock renew --every` and `--while`. After a first renewal of all holds, it renews
// each of them again and again. A pure machine (core/machine.hpp). It promises:
// - a hold is not renewed after its lease has ended by our clock, nor after a verdict against it;
// - it ends with the first lease that is lost, was revoked or ended without a renewal; with the
//   process of --while; or silently, when all its holds were properly released;
// - after its first second it watches its holds, so it learns of these ends at once;
// - an error of the store is no verdict: the renewal is repeated until the lease has ended.
// It releases nothing, so it can be ended at any time. It knows holds only by their index, in
// Ask::which and Notice::which. A request to watch (watch_hold, await_hand_off) is for all holds.
#pragma once

#include "core/lease_keeper.hpp"
#include "core/machine.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

namespace dlock {

struct RenewTerms {
  LeaseTerms lease;
  Duration every{};  // time between renewals of a hold
};

struct RenewOutcome {
  bool lost = false;  // a hold is lost, or soon will be
};

namespace action {
struct EndRenewals {
  RenewOutcome outcome;
};
}  // namespace action

class RenewLoop {
 public:
  using Outcome = RenewOutcome;
  using Action = std::variant<action::Ask, action::Say, action::EndRenewals>;

  // `sent_at`: for each hold, when its first renewal was sent; at least one.
  RenewLoop(const RenewTerms& terms, const std::vector<Time>& sent_at);

  std::vector<Action> start(Time now);
  std::vector<Action> on(const event::Renewed& event, Time now);
  std::vector<Action> on(const event::Watched& event, Time now);
  std::vector<Action> on(const event::HandedOff& event, Time now);
  std::vector<Action> on(event::ProcessEnded event, Time now);
  std::vector<Action> on(event::Tick event, Time now);
  std::optional<Time> next_deadline() const;

 private:
  struct Kept {
    std::size_t which = 0;
    LeaseKeeper keeper;
  };

  Kept* answered();
  void take(const Result<RenewReply>& answer, Kept& one, Time now);
  void note(const KeepStep& step, std::size_t which);
  void drop(std::size_t which);
  std::vector<Action> go_on(Time now);
  void ask(action::Ask ask, Time limit);
  void ask_what_is_due(Time now);
  void listen();
  void say(Notice notice, const Kept& one);
  void end(bool lost);

  RenewTerms terms_;
  std::vector<Kept> all_;
  std::optional<std::size_t> asked_;  // index of the hold whose request is unanswered
  std::deque<action::Ask> to_ask_;    // requests after a change; they are sent before others
  bool listening_ = false;            // the request to watch all holds is unanswered
  std::vector<Action> actions_;
  bool ended_ = false;
};

}  // namespace dlock
