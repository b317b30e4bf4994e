// SPDX-License-Identifier: MIT
// The exit status of each error and of each end of a run, and the report of an error.
#include "base/log.hpp"
#include "cmd/commands.hpp"

#include <cerrno>

namespace dlock {

namespace {

int status_of(const ChildStatus& child) {
  switch (child.kind) {
    case ChildStatus::Kind::exited:
      return child.value;
    case ChildStatus::Kind::signalled:
      return 128 + child.value;
    case ChildStatus::Kind::not_started:
      break;
  }
  return static_cast<int>(child.value == ENOENT ? ExitStatus::not_found
                                                : ExitStatus::not_executable);
}

}  // namespace

ExitStatus status_of(Errc code) {
  switch (code) {
    case Errc::bad_usage:
      return ExitStatus::usage;
    case Errc::bad_config:
      return ExitStatus::config;
    case Errc::denied:
      return ExitStatus::denied;
    case Errc::lost:
      return ExitStatus::lost;
    case Errc::no_such_host:
    case Errc::not_listening:
    case Errc::unavailable:
    case Errc::timed_out:
    case Errc::unconfirmed:
    case Errc::refused:
    case Errc::protocol:
    case Errc::cancelled:
      return ExitStatus::unavailable;
    case Errc::system:
      return ExitStatus::failed;
  }
  return ExitStatus::failed;
}

ExitStatus busy_status(const Settings& settings) {
  return static_cast<ExitStatus>(
      settings.conflict_exit_code.value_or(static_cast<int>(ExitStatus::busy)));
}

int status_of(const Outcome& outcome, const Settings& settings) {
  switch (outcome.kind) {
    case Outcome::Kind::child:
    case Outcome::Kind::unlocked:
      return status_of(outcome.child);
    case Outcome::Kind::taken:
      return static_cast<int>(ExitStatus::ok);
    case Outcome::Kind::busy:
    case Outcome::Kind::unavailable:
    case Outcome::Kind::superseded:
      return static_cast<int>(busy_status(settings));
    case Outcome::Kind::done:
      return settings.conflict_exit_code.value_or(static_cast<int>(ExitStatus::ok));
    case Outcome::Kind::failed:
      return static_cast<int>(status_of(outcome.error.code));
    case Outcome::Kind::lost:
      return static_cast<int>(ExitStatus::lost);
    case Outcome::Kind::time_up:
      return static_cast<int>(ExitStatus::time_up);
    case Outcome::Kind::signalled:
      return 128 + outcome.signal;
  }
  return static_cast<int>(ExitStatus::failed);
}

namespace {

// Returns whether doctor can find out more about this error.
bool helps_doctor(const Error& error, const Settings& settings) {
  const bool said = error.code == Errc::denied || error.code == Errc::refused ||
                    error.code == Errc::protocol || error.code == Errc::unconfirmed;
  return said && !settings.url_place.empty();
}

}  // namespace

ExitStatus report(const Error& error, const Settings& settings, std::string* json) {
  const ExitStatus status = status_of(error.code);
  std::string text = error.text;
  if (status == ExitStatus::unavailable && settings.url_place.empty()) {
    text +=
        "; set DLOCK_URL=redis://HOST:6379, or DLOCK_URL=sqlite:///var/lib/dlock/dlock.db for this "
        "machine alone";
  }
  if (helps_doctor(error, settings)) text += "; dlock doctor may tell more";
  if (status == ExitStatus::usage)
    text += "; see dlock " + settings.command + (settings.command.empty() ? "" : " ") + "--help";
  log(LogLevel::error,
      {.text = text, .fields = {{"code", static_cast<std::int64_t>(status)}}},
      json);
  return status;
}

}  // namespace dlock
