// SPDX-License-Identifier: MIT
// dlock release: releases holds of `acquire`; refuses to release a hold of `run`.
#include "app/asker.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/own_holds.hpp"
#include "cmd/voice.hpp"
#include "store/abandoned_holds.hpp"

#include <unistd.h>

#include <algorithm>

namespace dlock {

namespace {

ExitStatus not_ours(const std::string& shown, const FoundHold& found, bool by_run) {
  if (found.holding.kind == Holding::Kind::none) {
    log(LogLevel::warn, shown + " is free: nothing to release");
    return ExitStatus::no;
  }
  log(LogLevel::error,
      "not released: " + shown + " is " + holder_text(found.holding) +
          (by_run ? "; dlock run releases its own lock when its command ends" : ""));
  return ExitStatus::busy;
}

// Reports a released hold. If the lock is still held after the release of an outermost hold, warns.
// If the released hold was nested, the hold above it remains as expected, and there is no warning.
void tell_of(const WantedHold& gone, ReleaseVerdict verdict) {
  const std::string shown = in_quotes(gone.name.text());
  if (verdict == ReleaseVerdict::still_held && serial_of(gone.owner) == gone.serial) {
    log_of(
        LogLevel::warn,
        gone.name,
        "released",
        "released " + shown + "; a nested run still holds the lock, or its lease has not expired");
  } else {
    log_of(LogLevel::info, gone.name, "released", "released " + shown);
  }
}

ExitStatus release_one(Asker& asker,
                       const WantedHold& wanted,
                       const ReleaseOptions& options,
                       const Settings& settings) {
  const std::string shown = in_quotes(wanted.name.text());
  const Time until = BootClock::now() + settings.connect_timeout;
  const auto trouble = [&](const Error& error) {
    return report({error.code, "cannot release " + shown + ": " + error.text}, settings);
  };
  const auto find = [&](LockStore& store, Time limit) { return find_hold(store, wanted, limit); };
  auto found = asker.ask(until, find);
  if (!found) return trouble(found.error());
  const bool by_run = !is_of_acquire(wanted.serial);
  if (!found->hold || by_run) return not_ours(shown, *found, by_run && found->hold);

  int tries = 0;
  const auto release = [&](LockStore& store, Time limit) {
    ++tries;
    // Also releases the holds of nested runs that were killed and so could not release them.
    return release_with_abandoned(store, {*found->hold}, options, limit);
  };
  const auto verdict = asker.ask(until, release);
  if (!verdict) return trouble(verdict.error());
  // At the second try, a hold may be missing because the first try, which got no answer, released
  // it.
  if (*verdict == ReleaseVerdict::not_held && tries == 1) {
    found = asker.ask(until, find);
    return found ? not_ours(shown, *found, false) : trouble(found.error());
  }
  tell_of(wanted, *verdict);
  return ExitStatus::ok;
}

}  // namespace

ExitStatus release_command(const CommandLine& line, const Settings& settings) {
  InterruptSlot interrupt;
  auto store = open_store(settings, &interrupt);
  if (!store) return report(store.error(), settings);
  if (auto fits = check_detached(**store); !fits) return report(fits.error(), settings);
  auto wanted = wanted_holds(line, **store);
  if (!wanted) return report(wanted.error(), settings);
  ReleaseOptions options;
  if (const Duration keep = keep_last(**store, settings); keep > Duration::zero())
    options.end = RunEnd{.outcome = "released", .keep = keep};
  Voice voice(names_of(*wanted), settings.mode, (*store)->where());
  Asker asker(std::move(*store), interrupt, voice, Voice::rewrite_every());
  ExitStatus worst = ExitStatus::ok;
  for (const WantedHold& one : *wanted)
    worst = std::max(worst, release_one(asker, one, options, settings));
  voice.end_of_wait();
  // _exit() does not wait for the store thread, which may hang in a call to the store.
  ::_exit(static_cast<int>(worst));
}

}  // namespace dlock
