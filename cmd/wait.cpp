// SPDX-License-Identifier: MIT
// dlock wait: returns when a lock is free and nothing waits in its line. It joins no line and
// acquires nothing, so there is nothing to undo.
#include "app/driver.hpp"
#include "base/random.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/voice.hpp"
#include "core/watch_loop.hpp"

#include <unistd.h>

namespace dlock {

namespace {

ExitStatus status_of_wait(const WatchOutcome& outcome, Voice& voice, const Settings& settings) {
  switch (outcome.kind) {
    case WatchOutcome::Kind::free:
      return ExitStatus::ok;
    case WatchOutcome::Kind::busy:
      voice.busy({.holding = *outcome.holding}, outcome.seen_ago);
      return busy_status(settings);
    case WatchOutcome::Kind::failed:
      break;
  }
  return report(
      {outcome.error.code, "cannot wait for " + voice.names() + ": " + outcome.error.text},
      settings);
}

}  // namespace

ExitStatus wait_command(const CommandLine& line, const Settings& settings) {
  auto names = parse_names(line.names);
  if (!names) return report(names.error(), settings);
  InterruptSlot interrupt;
  auto store = open_store(settings, &interrupt);
  if (!store) return report(store.error(), settings);
  Voice voice(*names, settings.mode, (*store)->where());
  StoreWorker worker(std::move(*store), bystander(names->front()), interrupt);
  const WatchTerms terms{.wait = acquire_terms(settings), .notice_every = Voice::rewrite_every()};
  Driver<WatchLoop> driver(WatchLoop(terms, random_seed(), BootClock::now()), worker, voice);
  const auto ended = driver.run();
  voice.end_of_wait();
  const ExitStatus status =
      ended ? status_of_wait(*ended, voice, settings) : report(ended.error(), settings);
  // _exit() does not wait for the store thread, which may hang in a call to the store.
  ::_exit(static_cast<int>(status));
}

}  // namespace dlock
