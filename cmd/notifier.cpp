// SPDX-License-Identifier: MIT
#include "cmd/notifier.hpp"

#include "app/hold_variables.hpp"
#include "app/side_commands.hpp"
#include "base/log.hpp"
#include "cmd/own_environment.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

namespace {

void warn(const std::string& trouble) {
  if (!trouble.empty()) log(LogLevel::warn, "the command of --notify " + trouble);
}

// The command of --notify has no lock. A dlock in it must not take itself for one below a lock, nor
// tell of its own events: the command of that would be this one again.
std::vector<std::string> side_environment() {
  std::vector<std::string> environment = own_environment();
  std::erase_if(environment, [](std::string_view entry) {
    const std::string_view name = entry.substr(0, entry.find('='));
    return is_hold_variable(name) || name == "DLOCK_NOTIFY" || name == "DLOCK_EVENT" ||
           name == "DLOCK_OUTCOME";
  });
  environment.emplace_back("DLOCK_NOTIFY=");
  return environment;
}

}  // namespace

Notifier::Notifier(const Settings& settings,
                   const std::vector<LockName>& names,
                   const Signals& signals)
    : words_(shell_words(settings.notify)),
      wanted_(settings.notify_on),
      environment_(side_environment()),
      signals_(signals) {
  environment_.push_back("DLOCK_NAME=" + join_names(names));
}

void Notifier::call_lock(const std::vector<LockName>& names) {
  environment_.back() = "DLOCK_NAME=" + join_names(names);
}

bool Notifier::wants(NotifyEvent event) const {
  return std::find(wanted_.begin(), wanted_.end(), event) != wanted_.end();
}

void Notifier::note(NotifyEvent event, std::string json, std::string_view outcome) {
  std::erase(wanted_, event);
  noted_.push_back({event, std::move(json), std::string(outcome)});
}

void Notifier::start_noted() {
  for (const Noted& noted : std::exchange(noted_, {})) {
    std::vector<std::string> environment = environment_;
    environment.push_back("DLOCK_EVENT=" + std::string(notify_word(noted.event)));
    if (!noted.outcome.empty()) environment.push_back("DLOCK_OUTCOME=" + noted.outcome);
    auto started = SideCommand::start(
        {.words = words_, .environment = std::move(environment), .input = noted.json + "\n"},
        signals_);
    if (started) {
      running_.push_back(std::move(*started));
    } else {
      warn(started.error().text);
    }
  }
}

void Notifier::wait() {
  wait_for(running_, signals_);
  for (const SideCommand& command : running_)
    warn(command.trouble());
  running_.clear();
}

}  // namespace dlock
