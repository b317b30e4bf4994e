// SPDX-License-Identifier: MIT
#include "cmd/voice.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace dlock {

using namespace std::chrono_literals;

namespace {

std::string lease_text(const Holding& holding, Duration seen_ago) {
  if (!holding.lease_left) return "without expiry";
  return "lease " + format_duration(std::max<Duration>(*holding.lease_left - seen_ago, 0ms)) +
         " left";
}

}  // namespace

std::string holder_text(const Holding& holding, Duration seen_ago) {
  if (holding.kind == Holding::Kind::free) return "free";
  const std::string lease = lease_text(holding, seen_ago);
  if (holding.kind == Holding::Kind::foreign) {
    return "held by a foreign lock (" + printable(holding.type) + "), " + lease;
  }
  if (holding.holds.empty()) {
    const std::string owner = holding.owners.empty() ? "?" : printable(holding.owners.front().id);
    return "held by " + owner + " (not dlock), " + lease;
  }
  // The first of nested holds is the one the others are in.
  const HoldRecord* first = &holding.holds.front();
  for (const HoldRecord& hold : holding.holds) {
    if (hold.since_ms < first->since_ms) first = &hold;
  }
  std::string text = "held by " + who_text(first->who) + " for " +
                     format_duration(age_of(*first, holding) + seen_ago) + ", " + lease;
  if (!holding.revoked_by.empty()) text += ", revoked by " + printable(holding.revoked_by);
  if (!first->who.reason.empty()) text += ": " + printable(first->who.reason);
  return text;
}

void Voice::waiting(const Notice& notice) {
  const std::string text = "waiting " +
                           format_duration(std::chrono::floor<std::chrono::seconds>(notice.span)) +
                           " for " + name_ + ", " + holder_text(*notice.holding, notice.seen_ago);
  if (in_place_ && logs(LogLevel::warn)) {
    log_in_place(text);
    wait_shown_ = true;
  } else {
    log(LogLevel::warn, text);
  }
}

void Voice::end_of_wait() {
  if (wait_shown_) clear_log_in_place();
  wait_shown_ = false;
}

void Voice::on_notice(const Notice& notice) {
  using Kind = Notice::Kind;
  if (notice.kind == Kind::granted) end_of_wait();
  switch (notice.kind) {
    case Kind::polling:
      return log(LogLevel::info,
                 "polling for " + name_ + ", no hand-off messages here: " + notice.text);
    case Kind::waiting:
      return waiting(notice);
    case Kind::unreachable:
      return log(LogLevel::info, name_ + ": " + notice.text + "; trying again");
    case Kind::granted:
      return log(LogLevel::info,
                 "acquired " + name_ + " after " + format_duration(notice.span) + ", token " +
                     std::to_string(notice.token));
    case Kind::renewed:
      return log(LogLevel::info,
                 "renewed " + name_ + ", lease good for " + format_duration(notice.span));
    case Kind::lost:
      return log(LogLevel::error, "lost " + name_ + ", " + notice.text + "; stopping the command");
    case Kind::revoked:
      return log(LogLevel::error,
                 name_ + " was revoked by " + printable(notice.text) + "; stopping the command");
    case Kind::lapsing:
      return log(LogLevel::error,
                 "cannot renew " + name_ + " before its lease ends in " +
                     format_duration(std::max<Duration>(notice.span, 0ms)) +
                     "; stopping the command");
    case Kind::lost_warn:
      return log(LogLevel::error,
                 "lost " + name_ + (notice.text.empty() ? "" : ", " + printable(notice.text)) +
                     "; the command runs on without the lock (--on-lost warn)");
    case Kind::killed:
      return log(LogLevel::warn, name_ + ": the command did not end in time; killing it");
    case Kind::cannot_kill:
      return log(LogLevel::error,
                 name_ + ": the command cannot be killed so far; keeping the lock while it lives");
    case Kind::leftovers:
      return log(
          LogLevel::warn,
          name_ + ": the command left processes behind; stopping them before the lock is released");
    case Kind::release_unknown:
      return log(LogLevel::warn,
                 "cannot tell whether " + name_ + " was released: " + notice.text +
                     "; its lease ends in " + format_duration(notice.span));
    case Kind::lost_at_release:
      return log(LogLevel::warn,
                 name_ +
                     " was not ours any more, or not on record, when the command ended; another "
                     "may have run "
                     "beside it");
  }
}

void Voice::on_stopped(Duration left) {
  log(LogLevel::warn,
      "stopped; " + name_ + " lapses in " + format_duration(std::max<Duration>(left, 0ms)) +
          " unless continued before");
}

void Voice::on_left_stopped() {
  log(LogLevel::warn,
      name_ +
          ": the command stays stopped: it wants the terminal, and no shell with job control can "
          "give it; the lock is kept");
}

void Voice::on_guard(const std::string& why) {
  log(LogLevel::info, "the guard of the command is gone: " + why);
}

}  // namespace dlock
