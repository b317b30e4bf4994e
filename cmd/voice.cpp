// SPDX-License-Identifier: MIT
#include "cmd/voice.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>
#include <vector>

namespace dlock {

using namespace std::chrono_literals;

namespace {

std::string left_text(const Holding& holding, Duration seen_ago) {
  return format_duration(std::max<Duration>(*holding.lease_left - seen_ago, 0ms));
}

std::string lease_text(const Holding& holding, Duration seen_ago) {
  if (!holding.lease_left) return "without expiry";
  return "lease " + left_text(holding, seen_ago) + " left";
}

// The first of nested holds is the one the others are in. Of somebody who runs, if there is one.
const HoldRecord& first_hold(const Holding& holding) {
  return *std::min_element(
      holding.holds.begin(), holding.holds.end(), [](const auto& one, const auto& other) {
        return std::pair(one.kept, one.since_ms) < std::pair(other.kept, other.since_ms);
      });
}

std::string others_text(const Holding& holding) {
  if (holding.owner_count < 2) return "";
  const std::uint64_t others = holding.owner_count - 1;
  return " and " + std::to_string(others) + (others == 1 ? " other" : " others");
}

std::string held_text(const Holding& holding) {
  switch (holding.mode) {
    case Mode::exclusive:
    case Mode::write:
      break;
    case Mode::shared:
      return "held shared by ";
    case Mode::slots:
      return std::to_string(holding.owner_count) + " of " + std::to_string(holding.slots) +
             " slots held, by ";
  }
  return "held by ";
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
  const bool alone = holding.mode == Mode::exclusive || holding.mode == Mode::write;
  const std::string others = alone ? "" : others_text(holding);
  if (holding.holds.empty()) {
    const std::string owner = holding.owners.empty() ? "?" : printable(holding.owners.front().id);
    return held_text(holding) + owner + " (not dlock)" + others + ", " + lease;
  }
  const HoldRecord& first = first_hold(holding);
  std::string text;
  if (first.kept && holding.lease_left) {
    text = "kept by " + who_text(first.who) + others + " for " + left_text(holding, seen_ago) +
           " more (--min-hold)";
  } else {
    text = held_text(holding) + who_text(first.who) + " for " +
           format_duration(age_of(first, holding) + seen_ago) + others + ", " + lease;
  }
  if (!holding.revoked_by.empty()) text += ", revoked by " + printable(holding.revoked_by);
  if (!first.who.reason.empty()) text += ": " + printable(first.who.reason);
  return text;
}

std::string self_deadlock_text(const Holding& holding, Mode mode) {
  const bool slot = holding.mode == Mode::slots;
  const std::string held = slot ? " as one of " + std::to_string(holding.slots) + " slots"
                           : holding.mode == Mode::shared ? " shared"
                                                          : "";
  const char* const asked = slot && mode == Mode::slots ? "one of another number of slots"
                            : mode == Mode::slots       ? "a slot"
                            : mode == Mode::shared      ? "a shared hold"
                                                        : "an exclusive hold";
  return "held" + held + " by the run above this one: " + asked + " would wait for itself";
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
    case Kind::store_away:
      return {"store_away", LogLevel::warn};
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
    case Kind::time_up:
      return {"time_up", LogLevel::warn};
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
    case Kind::done_before:
      return {"done", LogLevel::warn};
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

// The reason comes first: on a terminal the rest may be cut.
std::string away_text(const Notice& notice, const std::string& name, const std::string& store) {
  using std::chrono::seconds;
  const std::string reason = notice.text.empty() ? "no answer from " + store : notice.text;
  const std::string retrying =
      "retrying for " + format_duration(std::chrono::ceil<seconds>(notice.left));
  if (!notice.holding) return reason + "; " + retrying;
  return "waiting " + format_duration(std::chrono::floor<seconds>(notice.span)) + " for " + name +
         ": " + reason + "; away for " +
         format_duration(std::chrono::floor<seconds>(notice.seen_ago)) + ", " + retrying;
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
             std::to_string(notice.holds.front().token);
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
    case Kind::time_up:
      return name + ": " +
             (notice.span == 0ns ? "the lease is over and is not renewed (--no-renew)"
                                 : "--max-hold " + format_duration(notice.span) + " is over") +
             "; stopping the command";
    case Kind::done_before:
      return "skipped " + name + ": a run that began " + format_duration(notice.span) +
             " ago succeeded (--once-per " + notice.text + ")";
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
      return name + ": cannot tell whether the release was heard: " + notice.text + "; the lease " +
             (notice.span > 0ns ? "ends in " + format_duration(notice.span) : "is about to end");
    case Kind::lost_at_release:
      return name +
             ": not ours any more, or not on record, when the command ended; another may have run "
             "beside it";
    case Kind::store_away:  // away_text
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
  if (notice.kind == Kind::store_away) {
    fields.push_back({"waited_ms", to_ms(notice.span)});
    fields.push_back({"away_ms", to_ms(notice.seen_ago)});
    fields.push_back({"left_ms", to_ms(notice.left)});
  } else if (notice.kind == Kind::waiting || notice.kind == Kind::granted) {
    fields.push_back({"waited_ms", to_ms(notice.span)});
    if (notice.holding && notice.holding->place > 0) {
      fields.push_back({"place", static_cast<std::int64_t>(notice.holding->place)});
      fields.push_back({"waiting", static_cast<std::int64_t>(notice.holding->waiting)});
    }
    if (!notice.holds.empty()) {
      const Hold& hold = notice.holds.front();
      fields.push_back({"mode", std::string(mode_word(hold.mode))});
      if (hold.slot) fields.push_back({"slot", static_cast<std::int64_t>(*hold.slot)});
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

Voice::Voice(std::vector<LockName> names, Mode mode, bool in_place, std::string store)
    : names_(std::move(names)),
      quoted_(quoted_names(names_)),
      mode_(mode),
      store_(std::move(store)),
      in_place_(in_place) {}

void Voice::say(LogLevel level, LogEvent event) {
  if (!logs(level)) return;
  if (logs_json()) {
    std::vector<LogEvent::Field> fields{{"lock", join_names(names_)}};
    if (!holds_.empty()) {
      const Hold& first = holds_.front();
      fields.push_back({"hold", hold_id(first.owner, first.serial)});
      fields.push_back({"token", static_cast<std::int64_t>(first.token)});
    }
    if (holds_.size() > 1) {
      std::string tokens;
      for (const Hold& hold : holds_)
        tokens += (tokens.empty() ? "" : " ") + std::to_string(hold.token);
      fields.push_back({"tokens", tokens});
    }
    event.fields.insert(event.fields.begin(), fields.begin(), fields.end());
  }
  log(level, event);
}

std::string Voice::name_of(std::optional<std::size_t> which) const {
  return which ? in_quotes(names_[std::min(*which, names_.size() - 1)].text()) : quoted_;
}

void Voice::on_notice(const Notice& notice) {
  const bool away = notice.kind == Notice::Kind::store_away;
  const bool waiting = notice.kind == Notice::Kind::waiting || away;
  if (notice.kind == Notice::Kind::granted) {
    end_of_wait();
    holds_ = notice.holds;
  }
  const Form form = form_of(notice);
  if (!logs(form.level)) return;
  const std::string name = name_of(notice.holding ? notice.holding->which : notice.which);
  const std::string text = away ? away_text(notice, name, store_) : sentence(notice, name);
  if (waiting && in_place_) {
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
  std::string text = name_of(holding.which) + " is ";
  if (holding.by_ancestor) {
    text += self_deadlock_text(holding, mode_);
  } else {
    text += "busy: " + holder_text(holding, seen_ago);
    if (holding.waiting > 0 && holding.place == 0) {
      text += ", " + std::to_string(holding.waiting) + " waiting";
    }
  }
  say(LogLevel::warn, {.name = "busy", .text = text});
}

void Voice::on_guard(const std::string& what) {
  say(LogLevel::info, {.name = "guard_replaced", .text = what});
}

}  // namespace dlock
