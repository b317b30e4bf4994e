// SPDX-License-Identifier: MIT
#include "cmd/notify_events.hpp"

#include "base/text.hpp"
#include "cmd/commands.hpp"
#include "cmd/did_you_mean.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace dlock {

namespace {

// In the order of NotifyEvent.
constexpr std::array<std::string_view, 8> k_words{
    "granted", "busy", "done", "lost", "time_up", "failed", "unavailable", "unlocked"};

using Told = Notice::Kind;
constexpr std::array k_notices{std::pair{Told::granted, NotifyEvent::granted},
                               std::pair{Told::superseded, NotifyEvent::busy},
                               std::pair{Told::done_before, NotifyEvent::done},
                               std::pair{Told::lost, NotifyEvent::lost},
                               std::pair{Told::revoked, NotifyEvent::lost},
                               std::pair{Told::lapsing, NotifyEvent::lost},
                               std::pair{Told::lost_at_release, NotifyEvent::lost},
                               std::pair{Told::time_up, NotifyEvent::time_up},
                               std::pair{Told::unavailable, NotifyEvent::unavailable},
                               std::pair{Told::unlocked, NotifyEvent::unlocked}};

}  // namespace

std::string_view notify_word(NotifyEvent event) {
  return k_words.at(static_cast<std::size_t>(event));
}

Result<std::vector<NotifyEvent>> parse_notify_events(std::string_view list) {
  std::vector<NotifyEvent> events;
  for (const std::string_view piece : split(list, ',')) {
    const auto found = std::find(k_words.begin(), k_words.end(), piece);
    if (found == k_words.end()) {
      return Error{Errc::bad_usage,
                   "there is no event " + in_quotes(shortened(piece, 80)) +
                       did_you_mean(piece, {k_words.begin(), k_words.end()})};
    }
    events.push_back(static_cast<NotifyEvent>(found - k_words.begin()));
  }
  if (events.empty()) return Error{Errc::bad_usage, "name at least one event"};
  return events;
}

std::optional<NotifyEvent> notify_event(const Notice& notice) {
  for (const auto& [kind, event] : k_notices)
    if (kind == notice.kind) return event;
  return {};
}

std::optional<NotifyEvent> notify_event(const Outcome& outcome) {
  using Kind = Outcome::Kind;
  if (outcome.not_started()) return NotifyEvent::failed;
  if (outcome.kind == Kind::busy) return NotifyEvent::busy;
  if (outcome.kind != Kind::failed) return {};
  return status_of(outcome.error.code) == ExitStatus::unavailable ? NotifyEvent::unavailable
                                                                  : NotifyEvent::failed;
}

}  // namespace dlock
