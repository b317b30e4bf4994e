// SPDX-License-Identifier: MIT
// dlock freeze: for a time no new run gets the named locks. dlock unfreeze: ends that early. The
// names are independent of each other: an error about one does not keep the others from it.
#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/holder_text.hpp"

#include <unistd.h>

#include <functional>

namespace dlock {

namespace {

Result<Duration> time_of(const CommandLine& line) {
  if (!line.lasts)
    return Error{Errc::bad_usage,
                 "freeze needs --for: without it nothing would end the freeze of a forgotten lock; "
                 "write: dlock freeze --for 2h NAME"};
  auto lasts = parse_duration(*line.lasts);
  if (!lasts) return Error{Errc::bad_usage, "--for: " + lasts.error().text};
  if (*lasts < std::chrono::seconds(1))
    return Error{Errc::bad_usage, "--for " + format_duration(*lasts) + " is shorter than 1s"};
  return *lasts;
}

ExitStatus freeze_one(LockStore& store,
                      const LockName& name,
                      const FreezeOrder& order,
                      const Settings& settings) {
  const std::string shown = in_quotes(name.text());
  const auto before = store.freeze(name, order, BootClock::now() + settings.connect_timeout);
  if (!before) {
    const Error& error = before.error();
    return report({error.code, "cannot freeze " + shown + ": " + error.text}, settings);
  }
  std::string text = "froze " + shown + " for " + format_duration(order.lasts);
  const bool held = before->kind != Holding::Kind::none && !is_only_kept(*before);
  if (held || before->frozen) text += "; the lock was " + holder_text(*before);
  if (held) text += ", and this holder goes on";
  log(LogLevel::warn, text);
  return ExitStatus::ok;
}

ExitStatus unfreeze_one(LockStore& store, const LockName& name, const Settings& settings) {
  const std::string shown = in_quotes(name.text());
  const auto ended = store.unfreeze(name, BootClock::now() + settings.connect_timeout);
  if (!ended) {
    const Error& error = ended.error();
    return report({error.code, "cannot unfreeze " + shown + ": " + error.text}, settings);
  }
  if (!ended->has_value()) {
    log(LogLevel::warn, shown + " is not frozen: nothing to unfreeze");
    return ExitStatus::no;
  }
  log(LogLevel::warn, "unfroze " + shown + "; it was " + frozen_text(**ended));
  return ExitStatus::ok;
}

// Opens the store, and does something with each of the names. Returns the first status that is not
// 0, but 1 only if no name had an error.
ExitStatus for_each_name(const CommandLine& line,
                         const Settings& settings,
                         const std::function<ExitStatus(LockStore&, const LockName&)>& what) {
  const auto names = parse_names(line.names);
  if (!names) return report(names.error(), settings);
  const auto store = open_store(settings);
  if (!store) return report(store.error(), settings);
  if (!(*store)->traits().keep)
    return report(lacks(**store,
                        "freeze: a lock there ends with the session of its holder, so none can be "
                        "kept without one"),
                  settings);
  auto worst = ExitStatus::ok;
  for (const LockName& name : *names) {
    const ExitStatus status = what(**store, name);
    if (worst == ExitStatus::ok || worst == ExitStatus::no)
      worst = status == ExitStatus::ok ? worst : status;
  }
  return worst;
}

}  // namespace

ExitStatus freeze_command(const CommandLine& line, const Settings& settings) {
  const auto lasts = time_of(line);
  if (!lasts) return report(lasts.error(), settings);
  const FreezeOrder order{.owner = make_owner_id(::getpid()),
                          .who = who_we_are(::getpid(), "freeze", settings),
                          .lasts = *lasts};
  return for_each_name(line, settings, [&](LockStore& store, const LockName& name) {
    return freeze_one(store, name, order, settings);
  });
}

ExitStatus unfreeze_command(const CommandLine& line, const Settings& settings) {
  return for_each_name(line, settings, [&](LockStore& store, const LockName& name) {
    return unfreeze_one(store, name, settings);
  });
}

}  // namespace dlock
