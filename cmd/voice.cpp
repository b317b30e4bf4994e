// SPDX-License-Identifier: MIT
#include "cmd/voice.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/ancestor_holder.hpp"
#include "cmd/claim.hpp"
#include "cmd/display.hpp"
#include "cmd/notice_text.hpp"
#include "sys/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

namespace dlock {

using namespace std::chrono_literals;

namespace {

struct Form {
  std::string_view event;  // its name in JSON
  LogLevel level;
};

Form form_of(const Notice& notice) {
  using Kind = Notice::Kind;
  switch (notice.kind) {
    case Kind::polling:
      return {"polling", LogLevel::info};
    case Kind::untracked:
      return {"untracked", LogLevel::info};
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
    case Kind::moved:
      return {"moved", LogLevel::warn};
    case Kind::lost:
      return {"lost", LogLevel::error};
    case Kind::revoked:
      return {"revoked", LogLevel::error};
    case Kind::lapsing:
      return {"lapsing", LogLevel::error};
    case Kind::time_up:
      return {"time_up", LogLevel::error};
    case Kind::killed:
      return {"kill", LogLevel::error};
    case Kind::cannot_kill:
      return {"cannot_kill", LogLevel::error};
    case Kind::outlived:
      return {"outlived", LogLevel::info};
    case Kind::strays:
      return {"strays", LogLevel::warn};
    case Kind::leftovers:
      return {"leftovers", LogLevel::error};
    case Kind::release_unknown:
      return {"release_unknown", LogLevel::warn};
    case Kind::lost_at_release:
      return {"lost_at_release", LogLevel::error};
    case Kind::done_before:
      return {"done", LogLevel::warn};
    case Kind::signalled:
      if (notice.signal == SIGKILL) return {"kill", LogLevel::error};
      return {"term", LogLevel::warn};
    case Kind::passed_on:
      return {"signal", LogLevel::info};
    case Kind::ended:
      return {"reaped", LogLevel::info};
    case Kind::released:
      return {"released", LogLevel::info};
    case Kind::free:
      return {"free", LogLevel::info};
  }
  return {"message", LogLevel::info};
}

bool waits(const Notice& notice) {
  return notice.kind == Notice::Kind::waiting || notice.kind == Notice::Kind::store_away;
}

std::string asked(Mode mode) {
  switch (mode) {
    case Mode::plain:
      break;
    case Mode::exclusive:
      return " (wanted to write)";
    case Mode::shared:
      return " (wanted to read)";
    case Mode::slots:
      return " (wanted a slot)";
  }
  return "";
}

// The fields that only the JSON format has.
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
    if (notice.holding)
      fields.push_back({"holder", holder_fields(*notice.holding, notice.seen_ago)});
    if (notice.holding && notice.place > 0) {
      fields.push_back({"place", static_cast<std::int64_t>(notice.place)});
      fields.push_back({"waiting", static_cast<std::int64_t>(notice.holding->waiting)});
    }
    if (!notice.holds.empty()) {
      const Hold& hold = notice.holds.front();
      fields.push_back({"mode", std::string(mode_word(hold.mode))});
      if (hold.slot) fields.push_back({"slot", static_cast<std::int64_t>(*hold.slot)});
    }
  } else if (notice.kind == Kind::moved) {
    fields.push_back({"server", notice.text});
    fields.push_back({"before", notice.before});
  } else if (notice.kind == Kind::free) {
    fields.push_back({"waited_ms", to_ms(notice.span)});
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

Voice::Voice(std::vector<LockName> names, Mode mode, std::string store)
    : names_(std::move(names)),
      quoted_(quoted_names(names_)),
      mode_(mode),
      store_(std::move(store)) {}

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
  Form form = form_of(notice);
  if (notice.kind == Notice::Kind::granted) holds_ = notice.holds;
  // A wait that was reported ends with a report of the grant.
  const bool wait_over = notice.kind == Notice::Kind::granted || notice.kind == Notice::Kind::free;
  if (wait_over && wait_told_) form.level = LogLevel::warn;
  // The notice before this one already gave the reason for the signal.
  if (notice.kind == Notice::Kind::signalled && !logs_json()) form.level = LogLevel::info;
  if (!logs(form.level)) return;
  if (waits(notice)) {
    if (notice.holding) look_above(*notice.holding);
    wait_told_ = true;
    if (rewrite_every() > 0s)
      return log_in_place(wait_row(notice, terminal_columns(STDERR_FILENO)));
  }
  const std::string text =
      waits(notice) ? wait_text(notice, Detail::full) : notice_text(notice, name_of(notice.which));
  say(form.level,
      {.name = form.event,
       .text = text,
       .fields = logs_json() ? figures(notice) : std::vector<LogEvent::Field>{}});
}

Duration Voice::rewrite_every() {
  return !logs_json() && understands_escapes() ? 1s : 0s;
}

// What the waiter waits for: "to read "db"", "for a slot of "db"".
std::string Voice::wanted(const std::string& name) const {
  switch (mode_) {
    case Mode::plain:
      break;
    case Mode::exclusive:
      return "to write " + name;
    case Mode::shared:
      return "to read " + name;
    case Mode::slots:
      return "for a slot of " + name;
  }
  return "for " + name;
}

std::string Voice::wait_text(const Notice& notice, Detail detail, Start start) const {
  const auto whole = [](Duration span) {
    return format_duration(std::chrono::floor<std::chrono::seconds>(span));
  };
  const bool away = notice.kind == Notice::Kind::store_away;
  // The reason comes first: on a terminal the rest may be cut.
  // The servers of a quorum are listed; some of them may have answered.
  const bool several = store_.find(", ") != std::string::npos;
  const std::string silent =
      (several ? "no answer from a majority of " : "no answer from ") + store_;
  const std::string reason = notice.text.empty() ? silent : notice.text;
  const std::string retrying =
      "retrying for " + format_duration(std::chrono::ceil<std::chrono::seconds>(notice.left));
  if (!notice.holding) return reason + "; " + retrying;
  const Holding& holding = *notice.holding;
  std::string text = "waiting " + whole(notice.span);
  if (start == Start::full) text += " " + wanted(name_of(notice.which));
  if (away) return text + ": " + reason + "; away for " + whole(notice.seen_ago) + ", " + retrying;
  text += ", ";
  if (start != Start::no_place) text += place_text(notice.place, holding.waiting);
  return text + holder_text(holding, notice.seen_ago, detail);
}

// A row that is full to its last column would begin the next one on some terminals.
std::string Voice::wait_row(const Notice& notice, std::size_t columns) const {
  const std::size_t room = columns - std::min(columns, columns_of("dlock: ") + 1);
  const bool utf8 = locale_has_utf8();
  const std::vector<std::pair<Detail, Start>> shorter_and_shorter{
      {Detail::full, Start::full},
      {Detail::short_host, Start::full},
      {Detail::no_reason, Start::full},
      {Detail::no_lease, Start::full},
      {Detail::no_command, Start::full},
      {Detail::who, Start::full},
      {Detail::who, Start::no_name},
      {Detail::who, Start::no_place},
  };
  std::string text;
  for (const auto& [detail, start] : shorter_and_shorter) {
    text = wait_text(notice, detail, start);
    if (!utf8) text = with_ascii_dots(text);
    if (columns_of(text) <= room) return text;
  }
  return fit(text, room, utf8 ? "…" : "...");
}

void Voice::look_above(const Holding& holding) {
  if (std::exchange(looked_above_, true)) return;
  const std::string text = ancestor_holder_text(holding);
  if (!text.empty()) say(LogLevel::warn, {.name = "holder_above", .text = quoted_ + ": " + text});
}

void Voice::end_of_wait() const {
  if (wait_told_) clear_log_in_place();
}

void Voice::on_started(pid_t child) {
  say(LogLevel::info, {.name = "started", .fields = {{"child_pid", child}}});
}

void Voice::on_stopped(Time safe_until, Duration left) {
  const std::string text = "stopped; the lease of " + quoted_ + " expires in " +
                           format_duration(std::max<Duration>(left, 0ms)) +
                           " unless dlock is continued";
  say(LogLevel::warn,
      {.name = "stopped",
       .text = text,
       .fields = {{"safe_until_ns", safe_until.time_since_epoch().count()}}});
}

void Voice::on_left_stopped() {
  const std::string text = quoted_ +
                           ": the command stays stopped: it needs the terminal, and there is no "
                           "shell with job control to continue it; the lock is kept";
  say(LogLevel::warn, {.name = "left_stopped", .text = text});
}

void Voice::busy(const Refusal& refusal, Duration seen_ago) {
  const Holding& holding = refusal.holding;
  std::string text = name_of(refusal.which) + " is ";
  if (refusal.by_ancestor) {
    text += self_deadlock_text(holding, mode_);
  } else {
    text += "busy" + asked(mode_) + ": " + holder_text(holding, seen_ago);
    if (holding.waiting > 0 && refusal.place == 0) {
      text += ", " + std::to_string(holding.waiting) + " waiting";
    }
  }
  std::vector<LogEvent::Field> fields;
  if (logs_json()) fields = {{"holder", holder_fields(holding, seen_ago)}};
  say(LogLevel::warn, {.name = "busy", .text = text, .fields = std::move(fields)});
  for (const Vote& vote : holding.votes)
    say(LogLevel::warn, {.name = "vote", .text = vote_text(vote, seen_ago)});
}

void Voice::on_guard(const std::string& what) {
  say(LogLevel::info, {.name = "guard_replaced", .text = what});
}

}  // namespace dlock
