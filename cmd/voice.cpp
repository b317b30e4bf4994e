// SPDX-License-Identifier: MIT
#include "cmd/voice.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

#include <array>
#include <csignal>
#include <utility>
#include <vector>

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
  if (holding.kind == Holding::Kind::free) {
    return holding.waiting == 0 ? "free" : "free for the first in line";
  }
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

std::string ordinal(std::uint64_t number) {
  const bool teen = number % 100 / 10 == 1;
  constexpr std::array<const char*, 4> k_endings{"th", "st", "nd", "rd"};
  const std::uint64_t last = number % 10;
  return std::to_string(number) + k_endings[teen || last > 3 ? 0 : last];
}

namespace {

// "3rd of 7, ", for who stands in line.
std::string place_text(const Holding& holding) {
  if (holding.place == 0) return "";
  return ordinal(holding.place) + " of " + std::to_string(holding.waiting) + ", ";
}

struct Form {
  std::string_view event;  // its name in JSON
  LogLevel level;
};

Form form_of(const Notice& notice) {
  using Kind = Notice::Kind;
  switch (notice.kind) {
    case Kind::polling:
      return {"polling", LogLevel::info};
    case Kind::blind:
      return {"blind", LogLevel::info};
    case Kind::waiting:
      return {"waiting", LogLevel::warn};
    case Kind::unreachable:
      return {"unknown", LogLevel::info};
    case Kind::granted:
      return {"granted", LogLevel::info};
    case Kind::renewed:
      return {"renewed", LogLevel::info};
    case Kind::lost:
    case Kind::lost_warn:
      return {"lost", LogLevel::error};
    case Kind::revoked:
      return {"revoked", LogLevel::error};
    case Kind::lapsing:
      return {"lapsing", LogLevel::error};
    case Kind::killed:
      return {"kill", LogLevel::warn};
    case Kind::cannot_kill:
      return {"cannot_kill", LogLevel::error};
    case Kind::outlived:
      return {"outlived", LogLevel::info};
    case Kind::strays:
      return {"strays", LogLevel::warn};
    case Kind::leftovers:
      return {"leftovers", LogLevel::warn};
    case Kind::release_unknown:
      return {"release_unknown", LogLevel::warn};
    case Kind::lost_at_release:
      return {"lost_at_release", LogLevel::warn};
    case Kind::signalled:
      return {notice.signal == SIGKILL ? "kill" : "term", LogLevel::warn};
    case Kind::passed_on:
      return {"signal", LogLevel::info};
    case Kind::ended:
      return {"reaped", LogLevel::info};
    case Kind::released:
      return {"released", LogLevel::info};
  }
  return {"message", LogLevel::info};
}

// Empty: not worth a line to people, who see what follows from it.
std::string sentence(const Notice& notice, const std::string& name) {
  using Kind = Notice::Kind;
  switch (notice.kind) {
    case Kind::polling:
      return "polling for " + name + ", no hand-off messages here: " + notice.text;
    case Kind::blind:
      return name + ": changes that nobody tells of are not seen at once: " + notice.text;
    case Kind::waiting:
      return "waiting " + format_duration(std::chrono::floor<std::chrono::seconds>(notice.span)) +
             " for " + name + ", " + place_text(*notice.holding) +
             holder_text(*notice.holding, notice.seen_ago);
    case Kind::unreachable:
      return name + ": " + notice.text + "; trying again";
    case Kind::granted:
      return "acquired " + name + " after " + format_duration(notice.span) + ", token " +
             std::to_string(notice.token);
    case Kind::renewed:
      return "renewed " + name + ", lease good for " + format_duration(notice.span);
    case Kind::lost:
      return "lost " + name + ", " + notice.text + "; stopping the command";
    case Kind::revoked:
      return name + " was revoked by " + printable(notice.text) + "; stopping the command";
    case Kind::lapsing:
      return "cannot renew " + name + " before its lease ends in " +
             format_duration(std::max<Duration>(notice.span, 0ms)) +
             (notice.text.empty() ? "" : " (" + printable(notice.text) + ")") +
             "; stopping the command";
    case Kind::lost_warn:
      return "lost " + name + (notice.text.empty() ? "" : ", " + printable(notice.text)) +
             "; the command runs on without the lock (--on-lost warn)";
    case Kind::killed:
      return name + ": the command did not end in time; killing it";
    case Kind::cannot_kill:
      return name +
             ": the command cannot be killed so far; the lock is not released while it lives";
    case Kind::outlived:
      return name +
             ": the command ended; keeping the lock until all that it started has (--contain)";
    case Kind::strays:
      return name + ": " + std::to_string(notice.count) +
             (notice.count == 1 ? " process" : " processes") +
             " of the command left its group and may run on without the lock; --contain would wait";
    case Kind::leftovers:
      return name +
             ": the command left processes behind; stopping them before the lock is released";
    case Kind::release_unknown:
      return "cannot tell whether " + name + " was released: " + notice.text +
             "; its lease ends in " + format_duration(notice.span);
    case Kind::lost_at_release:
      return name +
             " was not ours any more, or not on record, when the command ended; another may have "
             "run beside it";
    case Kind::signalled:
    case Kind::passed_on:
    case Kind::ended:
    case Kind::released:
      break;
  }
  return "";
}

// The figures that only programs read.
std::vector<LogEvent::Field> figures(const Notice& notice) {
  using Kind = Notice::Kind;
  std::vector<LogEvent::Field> fields;
  if (notice.safe_until) {
    fields.push_back({"safe_until_ns", notice.safe_until->time_since_epoch().count()});
  }
  if (notice.kind == Kind::waiting || notice.kind == Kind::granted) {
    fields.push_back({"waited_ms", to_ms(notice.span)});
    if (notice.holding && notice.holding->place > 0) {
      fields.push_back({"place", static_cast<std::int64_t>(notice.holding->place)});
      fields.push_back({"waiting", static_cast<std::int64_t>(notice.holding->waiting)});
    }
  } else if (notice.kind == Kind::release_unknown) {
    fields.push_back({"left_ns", notice.span.count()});
  } else if (notice.kind == Kind::killed || notice.kind == Kind::cannot_kill) {
    fields.push_back({"signal", SIGKILL});
  } else if (notice.kind == Kind::signalled || notice.kind == Kind::passed_on) {
    fields.push_back({"signal", notice.signal});
  } else if (notice.kind == Kind::ended) {
    const bool by_signal = notice.child.kind == ChildStatus::Kind::signalled;
    const bool started = notice.child.kind != ChildStatus::Kind::not_started;
    fields.push_back({by_signal ? "signal" : started ? "code" : "errno", notice.child.value});
  }
  return fields;
}

}  // namespace

void Voice::say(LogLevel level, LogEvent event) {
  if (!logs(level)) return;
  if (logs_json()) {
    std::vector<LogEvent::Field> fields{{"lock", name_.text()}};
    if (!hold_.empty()) {
      fields.push_back({"hold", hold_});
      fields.push_back({"token", static_cast<std::int64_t>(token_)});
    }
    event.fields.insert(event.fields.begin(), fields.begin(), fields.end());
  }
  log(level, event);
}

void Voice::on_notice(const Notice& notice) {
  if (notice.kind == Notice::Kind::granted) {
    end_of_wait();
    hold_ = notice.hold;
    token_ = notice.token;
  }
  const Form form = form_of(notice);
  if (!logs(form.level)) return;
  const std::string text = sentence(notice, quoted_);
  if (notice.kind == Notice::Kind::waiting && in_place_) {
    log_in_place(text);
    wait_shown_ = true;
    return;
  }
  say(form.level,
      {.name = form.event,
       .text = text,
       .fields = logs_json() ? figures(notice) : std::vector<LogEvent::Field>{}});
}

void Voice::end_of_wait() {
  if (wait_shown_) clear_log_in_place();
  wait_shown_ = false;
}

void Voice::on_started(pid_t child) {
  say(LogLevel::info, {.name = "started", .fields = {{"pid", child}}});
}

void Voice::on_stopped(Time safe_until, Duration left) {
  const std::string text = "stopped; " + quoted_ + " lapses in " +
                           format_duration(std::max<Duration>(left, 0ms)) +
                           " unless continued before";
  say(LogLevel::warn,
      {.name = "stopped",
       .text = text,
       .fields = {{"safe_until_ns", safe_until.time_since_epoch().count()}}});
}

void Voice::on_left_stopped() {
  const std::string text = quoted_ +
                           ": the command stays stopped: it wants the terminal, and no shell with "
                           "job control can give it; the lock is kept";
  say(LogLevel::warn, {.name = "left_stopped", .text = text});
}

void Voice::busy(const Holding& holding, Duration seen_ago) {
  std::string text = quoted_ + " is busy: " + holder_text(holding, seen_ago);
  if (holding.waiting > 0 && holding.place == 0) {
    text += ", " + std::to_string(holding.waiting) + " waiting";
  }
  say(LogLevel::warn, {.name = "busy", .text = text});
}

void Voice::on_guard(const std::string& why) {
  say(LogLevel::info,
      {.name = "guard_replaced", .text = "the guard of the command was looked after: " + why});
}

}  // namespace dlock
