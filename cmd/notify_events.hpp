// SPDX-License-Identifier: MIT
// The events of --notify-on. Each comes at most once in a run.
#pragma once

#include "base/result.hpp"
#include "core/run_words.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace dlock {

enum class NotifyEvent {
  granted,      // the lock was acquired
  busy,         // the wait ended without the lock
  done,         // skipped because of --once-per
  lost,         // the lease was lost, revoked, or could not be renewed
  time_up,      // the time of --max-hold or --no-renew is over
  failed,       // another failure: the command was not started
  unavailable,  // the store could not be reached: the command was not started
  unlocked,     // --on-unavailable run: the command runs without the lock
};

constexpr std::array k_notify_default{NotifyEvent::busy,
                                      NotifyEvent::done,
                                      NotifyEvent::lost,
                                      NotifyEvent::time_up,
                                      NotifyEvent::failed,
                                      NotifyEvent::unavailable,
                                      NotifyEvent::unlocked};

std::string_view notify_word(NotifyEvent event);
// Reads words separated by commas. Errc::bad_usage: there is no such event, or no event at all.
Result<std::vector<NotifyEvent>> parse_notify_events(std::string_view list);

// Return the event that a notice, or the end of a run, is; nullopt: it is not an event of its own.
std::optional<NotifyEvent> notify_event(const Notice& notice);
std::optional<NotifyEvent> notify_event(const Outcome& outcome);

}  // namespace dlock
