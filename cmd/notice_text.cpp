// SPDX-License-Identifier: MIT
#include "cmd/notice_text.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/holder_text.hpp"

#include <cstring>

namespace dlock {

using namespace std::chrono_literals;

namespace {

std::string signal_text(int number) {
  const char* const known = ::sigabbrev_np(number);
  return known != nullptr ? "SIG" + std::string(known) : "signal " + std::to_string(number);
}

std::string kill_text(KillReason why) {
  switch (why) {
    case KillReason::grace_over:
      return "the command did not end in time; killing it";
    case KillReason::second_signal:
      return "second signal: killing the command now";
    case KillReason::lapsed:
      break;
  }
  return "the lease expired while dlock was stopped; killing the command";
}

std::string time_up_text(const Notice& notice) {
  if (notice.kill == KillReason::lapsed) return kill_text(notice.kill);
  return (notice.span == 0ns ? "the lease ends and is not renewed (--no-renew)"
                             : "--max-hold " + format_duration(notice.span) + " has passed") +
         "; stopping the command";
}

// The present holding, if the store said it; else why the lease could not be kept.
std::string lost_text(const Notice& notice) {
  if (notice.holding && !notice.text.empty())
    return " in a failover: " + notice.text + " became master without it";
  if (notice.holding) return ": it is " + holder_text(*notice.holding);
  return notice.text.empty() ? "" : ", " + printable(notice.text);
}

std::string what_follows(const Notice& notice) {
  return notice.runs_on ? "; the command runs on without the lock (--on-lost warn)"
                        : "; stopping the command";
}

std::string lapsing_text(const Notice& notice, const std::string& name) {
  if (notice.kill == KillReason::lapsed && !notice.runs_on)
    return name + ": " + kill_text(notice.kill);
  const std::string why = notice.text.empty() ? "" : " (" + printable(notice.text) + ")";
  if (notice.span <= 0ns)
    return "the lease of " + name + " has expired" + why + what_follows(notice);
  return "cannot renew " + name + " before its lease ends in " + format_duration(notice.span) +
         why + what_follows(notice);
}

std::string strays_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " process" : " processes") +
         " of the command left its process group and may continue without the lock; --contain "
         "keeps the lock until they end";
}

std::string done_before_text(const Notice& notice) {
  return ": a run that began " + format_duration(notice.span) + " ago succeeded (--once-per " +
         notice.text + ")";
}

}  // namespace

std::string notice_text(const Notice& notice, const std::string& name) {
  using Kind = Notice::Kind;
  switch (notice.kind) {
    case Kind::polling:
      return name + ": polling, because the subscription failed: " + notice.text;
    case Kind::untracked:
      return name + ": no key tracking: a lock deleted or overwritten by others is noticed late: " +
             notice.text;
    case Kind::unreachable:
      return name + ": " + notice.text + "; trying again";
    case Kind::granted:
      return "acquired " + name + " after " + format_duration(notice.span) +
             (logs(LogLevel::info) ? ", token " + std::to_string(notice.holds.front().token) : "");
    case Kind::renewed:
      return "renewed " + name + ", lease good for " + format_duration(notice.span);
    case Kind::moved:
      return "the master of " + name + " is now " + notice.text + " (was " + notice.before +
             "); the lock is still held there";
    case Kind::lost:
      return "lost " + name + lost_text(notice) + what_follows(notice);
    case Kind::revoked:
      return name + " was revoked by " + printable(notice.text) + what_follows(notice);
    case Kind::lapsing:
      return lapsing_text(notice, name);
    case Kind::time_up:
      return name + ": " + time_up_text(notice);
    case Kind::done_before:
      return "skipped " + name + done_before_text(notice);
    case Kind::killed:
      // The notice before this one already said that the lease expired.
      return notice.kill == KillReason::lapsed ? "" : name + ": " + kill_text(notice.kill);
    case Kind::cannot_kill:
      return name +
             ": the command has not ended after SIGKILL; the lock is not released before it has";
    case Kind::outlived:
      return name +
             ": the command ended; the lock is kept until its descendants have ended (--contain)";
    case Kind::strays:
      return name + ": " + strays_text(notice.count);
    case Kind::leftovers:
      return name +
             ": the command left processes behind; stopping them before the lock is released";
    case Kind::release_unknown:
      return name + ": release not confirmed: " + notice.text + "; the lease " +
             (notice.span > 0ns ? "ends in " + format_duration(notice.span) : "is about to end");
    case Kind::lost_at_release:
      return name +
             ": the lease was lost before the release; another holder may have run at the same "
             "time";
    case Kind::signalled:
    case Kind::passed_on:
      return name + ": sending " + signal_text(notice.signal) + " to the command";
    case Kind::released:
      return "released " + name;
    case Kind::free:
      return name + " is free after " + format_duration(notice.span);
    case Kind::waiting:
    case Kind::store_away:
    case Kind::ended:
      break;
  }
  return "";
}

}  // namespace dlock
