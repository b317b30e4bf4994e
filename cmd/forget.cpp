// SPDX-License-Identifier: MIT
// dlock forget: deletes the success that --once-per remembers, so that the next run runs. Holders
// and waiters of the lock are not affected.
#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"

namespace dlock {

ExitStatus forget_command(const CommandLine& line, const Settings& settings) {
  auto name = LockName::parse(line.names.front());
  if (!name) return report(name.error(), settings);
  auto store = open_store(settings);
  if (!store) return report(store.error(), settings);
  if (!(*store)->traits().once_per) return report(lacks(**store, "--once-per"), settings);
  const std::string shown = in_quotes(name->text());
  auto forgotten = (*store)->forget(*name, BootClock::now() + settings.connect_timeout);
  if (!forgotten) {
    const Error& error = forgotten.error();
    return report({error.code, "cannot forget the success of " + shown + ": " + error.text},
                  settings);
  }
  if (!forgotten->has_value()) {
    log(LogLevel::warn, "no success of " + shown + " is remembered: nothing to forget");
    return ExitStatus::no;
  }
  log(LogLevel::warn,
      "forgot the success of " + shown + ": a run that began " +
          format_duration((*forgotten)->ago) + " ago");
  return ExitStatus::ok;
}

}  // namespace dlock
