// SPDX-License-Identifier: MIT
// Acquirer: one `dlock acquire` on this machine: a run up to the grant. Where a run starts its
// child, the grant is handed to whoever wanted it; if he cannot take it over, it is given back as
// after a child that could not be started. So waiting, signals and undoing are those of a run.
#pragma once

#include "app/runner.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace dlock {

class Acquirer {
 public:
  // Gets what was granted, and until when it is good. An error: it was not taken over.
  using TakeOver = std::function<Result<void>(const Holds&, Time safe_until)>;

  Acquirer(RunSession session,
           StoreWorker& worker,
           const Signals& signals,
           Listener& listener,
           TakeOver take_over);

  // Nothing: it was taken over. Else nothing is held. Errc::system only if this machine fails us
  // before anything was asked.
  Result<std::optional<Outcome>> run();

 private:
  void turn();
  void feed(Event event);
  void carry_out(std::vector<Action> actions);
  void carry_out_one(action::Ask& ask) { worker_.ask(ask); }
  void carry_out_one(action::CancelAsk& /*cancel*/) { worker_.cancel(); }
  void carry_out_one(action::StartChild& start);
  // There is no child.
  void carry_out_one(action::SetGuard& /*guard*/) {}
  void carry_out_one(action::SignalGroup& /*order*/) {}
  void carry_out_one(action::Say& say) { listener_.on_notice(say.notice); }
  void carry_out_one(action::Finish& finish) { outcome_ = std::move(finish.outcome); }

  RunSession session_;
  StoreWorker& worker_;
  const Signals& signals_;
  Listener& listener_;
  TakeOver take_over_;
  DeadlineTimer timer_;
  Time now_;
  bool taken_ = false;
  std::optional<Outcome> outcome_;
};

}  // namespace dlock
