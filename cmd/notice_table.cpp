// SPDX-License-Identifier: MIT
#include "cmd/notice_table.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cmd/holder_text.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace dlock {

using namespace std::chrono_literals;

namespace {

using Fields = std::vector<LogEvent::Field>;

// --- sentences ----------------------------------------------------------------------------------

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

std::string what_follows(const Notice& notice) {
  return notice.runs_on ? "; the command runs on without the lock (--on-lost warn)"
                        : "; stopping the command";
}

std::string granted_text(const Notice& notice, const std::string& name) {
  return "acquired " + name + " after " + format_duration(notice.span) +
         (logs(LogLevel::info) ? ", token " + std::to_string(notice.holds.front().token) : "");
}

std::string reclaimed_text(const Notice& notice, const std::string& name) {
  return "freed " + name + " of " + who_text(first_hold(*notice.holding).who) +
         ": that run is dead, with all of its processes";
}

std::string renewed_text(const Notice& notice, const std::string& name) {
  return "renewed " + name + ", lease good for " + format_duration(notice.span);
}

std::string moved_text(const Notice& notice, const std::string& name) {
  return "the master of " + name + " is now " + notice.text + " (was " + notice.before +
         "); the lock is still held there";
}

// Returns the sentence for a lost lock. It names the new master after a failover; otherwise the
// present holder, if the store named one; otherwise the reason for the loss, if it is known.
std::string lost_text(const Notice& notice, const std::string& name) {
  std::string why;
  if (notice.holding && !notice.text.empty()) {
    why = " in a failover: " + notice.text + " became master without it";
  } else if (notice.holding) {
    why = ": it is " + holder_text(*notice.holding);
  } else if (!notice.text.empty()) {
    why = ", " + printable(notice.text);
  }
  return "lost " + name + why + what_follows(notice);
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

std::string time_up_text(const Notice& notice, const std::string& name) {
  if (notice.kill == KillReason::lapsed) return name + ": " + kill_text(notice.kill);
  return name + ": " +
         (notice.span == 0ns ? "the lease ends and is not renewed (--no-renew)"
                             : "--max-hold " + format_duration(notice.span) + " has passed") +
         "; stopping the command";
}

// Returns an empty text if the command is killed because its lease expired: the notice before this
// one has said that.
std::string killed_text(const Notice& notice, const std::string& name) {
  return notice.kill == KillReason::lapsed ? "" : name + ": " + kill_text(notice.kill);
}

std::string strays_text(const Notice& notice, const std::string& name) {
  return name + ": " + std::to_string(notice.count) +
         (notice.count == 1 ? " process" : " processes") +
         " of the command left its process group and may continue without the lock; --contain "
         "keeps the lock until they end";
}

std::string release_unknown_text(const Notice& notice, const std::string& name) {
  return name + ": release not confirmed: " + notice.text + "; the lease " +
         (notice.span > 0ns ? "ends in " + format_duration(notice.span) : "is about to end");
}

std::string done_before_text(const Notice& notice, const std::string& name) {
  return "skipped " + name + ": a run that began " + format_duration(notice.span) +
         " ago succeeded (--once-per " + notice.text + ")";
}

std::string sending_text(const Notice& notice, const std::string& name) {
  return name + ": sending " + signal_text(notice.signal) + " to the command";
}

std::string cannot_renew(const Notice& notice, const std::string& name) {
  return "cannot renew " + name + ": " + notice.text;
}

// --- fields -------------------------------------------------------------------------------------

Fields waited_field(const Notice& notice) {
  return {{"waited_ms", to_ms(notice.span)}};
}

Fields delay_field(const Notice& notice) {
  return {{"delay_ms", to_ms(notice.span)}};
}

Fields reclaimed_field(const Notice& notice) {
  return {{"holder", holder_fields(*notice.holding, notice.seen_ago)}};
}

Fields wait_fields(const Notice& notice) {
  Fields fields = waited_field(notice);
  if (!notice.holding) return fields;
  fields.push_back({"holder", holder_fields(*notice.holding, notice.seen_ago)});
  if (notice.place == 0) return fields;
  fields.push_back({"place", static_cast<std::int64_t>(notice.place)});
  fields.push_back({"waiting", static_cast<std::int64_t>(notice.holding->waiting)});
  return fields;
}

Fields granted_fields(const Notice& notice) {
  Fields fields = wait_fields(notice);
  if (notice.holds.empty()) return fields;
  const Hold& hold = notice.holds.front();
  fields.push_back({"mode", std::string(mode_word(hold.mode))});
  if (hold.slot) fields.push_back({"slot", static_cast<std::int64_t>(*hold.slot)});
  return fields;
}

Fields store_away_fields(const Notice& notice) {
  return {{"waited_ms", to_ms(notice.span)},
          {"away_ms", to_ms(notice.seen_ago)},
          {"left_ms", to_ms(notice.left)}};
}

Fields moved_fields(const Notice& notice) {
  return {{"server", notice.text}, {"before", notice.before}};
}

Fields signal_field(const Notice& notice) {
  return {{"signal", notice.signal}};
}

Fields kill_field(const Notice& /*notice*/) {
  return {{"signal", SIGKILL}};
}

Fields ended_field(const Notice& notice) {
  const bool by_signal = notice.child.kind == ChildStatus::Kind::signalled;
  const bool started = notice.child.kind != ChildStatus::Kind::not_started;
  return {{by_signal ? "signal" : started ? "code" : "errno", notice.child.value}};
}

Fields left_field(const Notice& notice) {
  return {{"left_ns", notice.span.count()}};
}

// --- the table ----------------------------------------------------------------------------------

using K = Notice::Kind;
using L = LogLevel;
using N = const Notice&;
using Name = const std::string&;

// clang-format off
constexpr auto k_forms = std::to_array<NoticeForm>({
    {K::splay, L::info, "splay", [](N notice, Name name) {
       return name + ": beginning in " + format_duration(notice.span) + " (--splay " +
              notice.text + ")"; }, delay_field},
    {K::polling, L::info, "polling", [](N notice, Name name) {
       return name + ": polling, because the subscription failed: " + notice.text; }},
    {K::untracked, L::info, "untracked", [](N notice, Name name) {
       return name + ": no key tracking: a lock deleted or overwritten by others is noticed "
                     "late: " + notice.text; }},
    {K::waiting, L::warn, "waiting", nullptr, wait_fields},
    {K::store_away, L::warn, "store_away", nullptr, store_away_fields},
    {K::unreachable, L::info, "unknown", [](N notice, Name name) {
       return name + ": " + notice.text + "; trying again"; }, nullptr,
     [](N notice, Name name) { return cannot_renew(notice, name) + "; trying again"; }},
    {K::reclaimed, L::warn, "reclaimed", reclaimed_text, reclaimed_field},
    {K::unavailable, L::error, "unavailable", [](N notice, Name name) {
       return "skipped " + name + ": the store is away (--on-unavailable skip): " + notice.text; }},
    {K::unlocked, L::error, "unlocked", [](N notice, Name name) {
       return "running the command WITHOUT " + name +
              ": the store is away (--on-unavailable run): " + notice.text; }},
    {K::granted, L::info, "granted", granted_text, granted_fields},
    {K::renewed, L::info, "renewed", renewed_text},
    {K::moved, L::warn, "moved", moved_text, moved_fields},
    {K::lost, L::error, "lost", lost_text, nullptr, [](N notice, Name name) {
       return "lost " + name + ": it is " + holder_text(*notice.holding); }},
    {K::revoked, L::error, "revoked", [](N notice, Name name) {
       return name + " was revoked by " + printable(notice.text) + what_follows(notice); }, nullptr,
     [](N notice, Name name) {
       return name + " was revoked by " + printable(notice.text) +
              "; the lease is not renewed; run dlock release"; }},
    {K::lapsing, L::error, "lapsing", lapsing_text, nullptr, [](N notice, Name name) {
       return notice.text.empty() ? "the lease of " + name + " expired before a renewal"
                                  : cannot_renew(notice, name) + "; the lease expires"; }},
    {K::time_up, L::error, "time_up", time_up_text},
    {K::killed, L::error, "kill", killed_text, kill_field},
    {K::cannot_kill, L::error, "cannot_kill", [](N, Name name) {
       return name + ": the command has not ended after SIGKILL; the lock is not released before "
                     "it has"; }, kill_field},
    {K::outlived, L::info, "outlived", [](N, Name name) {
       return name + ": the command ended; the lock is kept until its descendants have ended "
                     "(--contain)"; }},
    {K::strays, L::warn, "strays", strays_text},
    {K::leftovers, L::error, "leftovers", [](N, Name name) {
       return name + ": the command left processes behind; stopping them before the lock is "
                     "released"; }},
    {K::release_unknown, L::warn, "release_unknown", release_unknown_text, left_field},
    {K::lost_at_release, L::error, "lost_at_release", [](N, Name name) {
       return name + ": the lease was lost before the release; another holder may have run at "
                     "the same time"; }},
    {K::superseded, L::warn, "superseded", [](N notice, Name name) {
       return name + ": superseded by " + notice.text + ", which came later"; }},
    {K::done_before, L::warn, "done", done_before_text},
    {K::signalled, L::warn, "term", sending_text, signal_field},
    {K::passed_on, L::info, "signal", sending_text, signal_field},
    {K::ended, L::info, "reaped", nullptr, ended_field},
    {K::released, L::info, "released", [](N, Name name) { return "released " + name; }},
    {K::free, L::info, "free", [](N notice, Name name) {
       return name + " is free after " + format_duration(notice.span); }, waited_field},
});
// clang-format on

constexpr bool has_row_for_each_kind() {
  for (std::size_t i = 0; i < k_forms.size(); ++i) {
    if (k_forms[i].kind != static_cast<Notice::Kind>(i)) return false;
  }
  return k_forms.size() == Notice::k_kinds;
}
static_assert(has_row_for_each_kind(), "the rows are in the order of Notice::Kind");

}  // namespace

NoticeForm form_of(const Notice& notice) {
  NoticeForm form = k_forms.at(static_cast<std::size_t>(notice.kind));
  // If the first signal to the command is KILL (--signal KILL), it is reported like every other
  // KILL.
  if (notice.kind == K::signalled && notice.signal == SIGKILL) {
    form.level = L::error;
    form.event = "kill";
  }
  return form;
}

std::string notice_text(const Notice& notice, const std::string& name) {
  const NoticeForm form = form_of(notice);
  return form.text == nullptr ? "" : form.text(notice, name);
}

std::string renew_text(const Notice& notice, const std::string& name) {
  const NoticeForm form = form_of(notice);
  return form.renew_text == nullptr ? notice_text(notice, name) : form.renew_text(notice, name);
}

std::vector<LogEvent::Field> notice_fields(const Notice& notice) {
  if (!wants_fields()) return {};
  Fields fields;
  if (notice.safe_until)
    fields.push_back({"safe_until_ns", notice.safe_until->time_since_epoch().count()});
  if (const auto further = form_of(notice).fields; further != nullptr) {
    for (LogEvent::Field& one : further(notice))
      fields.push_back(std::move(one));
  }
  return fields;
}

}  // namespace dlock
