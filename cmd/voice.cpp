// SPDX-License-Identifier: MIT
#include "cmd/voice.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/ancestor_holder.hpp"
#include "cmd/claim.hpp"
#include "cmd/display.hpp"
#include "cmd/notice_table.hpp"
#include "sys/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace dlock {

using namespace std::chrono_literals;

namespace {

bool waits(const Notice& notice) {
  return notice.kind == Notice::Kind::waiting || notice.kind == Notice::Kind::store_away;
}

std::string asked(Mode mode, std::uint32_t slots) {
  switch (mode) {
    case Mode::plain:
      break;
    case Mode::exclusive:
      return " (wanted to write)";
    case Mode::shared:
      return " (wanted to read)";
    case Mode::slots:
      return " (wanted one of " + std::to_string(slots) + " slots)";
  }
  return "";
}

}  // namespace

Voice::Voice(std::vector<LockName> names,
             Mode mode,
             std::string store,
             Notifier* notifier,
             std::uint32_t slots,
             bool one_of)
    : names_(std::move(names)),
      quoted_((one_of ? "one of " : "") + quoted_names(names_)),
      mode_(mode),
      store_(std::move(store)),
      notifier_(notifier),
      slots_(slots),
      one_of_(one_of) {}

void Voice::say(LogLevel level, LogEvent event, std::string* json) {
  if (!logs(level) && json == nullptr) return;
  if (wants_fields()) {
    std::vector<LogEvent::Field> fields{{"lock", join_names(names_)}};
    if (!holds_.empty()) {
      const Hold& first = holds_.front();
      fields.push_back({"hold", hold_id(first.owner, first.serial)});
      fields.push_back(field_if_known("token", static_cast<std::int64_t>(first.token)));
    }
    if (holds_.size() > 1) {
      std::string tokens;
      for (const Hold& hold : holds_)
        tokens += (tokens.empty() ? "" : " ") + std::to_string(hold.token);
      fields.push_back({"tokens", tokens});
    }
    event.fields.insert(event.fields.begin(), fields.begin(), fields.end());
  }
  log(level, event, json);
}

bool Voice::notifies(std::optional<NotifyEvent> event) const {
  return event && notifier_ != nullptr && notifier_->wants(*event);
}

std::string Voice::name_of(std::optional<std::size_t> which) const {
  return which ? in_quotes(names_[std::min(*which, names_.size() - 1)].text()) : quoted_;
}

// Remembers what was granted. Of one of several names, only that one matters from now on.
void Voice::take_note(const Holds& holds) {
  holds_ = holds;
  if (!std::exchange(one_of_, false)) return;
  names_ = names_of(holds);
  quoted_ = quoted_names(names_);
  if (notifier_ != nullptr) notifier_->call_lock(names_);
}

void Voice::on_notice(const Notice& notice) {
  NoticeForm form = form_of(notice);
  if (notice.kind == Notice::Kind::granted) take_note(notice.holds);
  // If a wait was reported, its end is reported too.
  const bool wait_over = notice.kind == Notice::Kind::granted || notice.kind == Notice::Kind::free;
  if (wait_over && wait_told_) form.level = LogLevel::warn;
  // In text, a signal to the command is only info, because the sentence before it gave the reason.
  if (notice.kind == Notice::Kind::signalled && !logs_json()) form.level = LogLevel::info;
  const std::optional<NotifyEvent> event = notify_event(notice);
  const bool notifies = this->notifies(event);
  if (!logs(form.level) && !notifies) return;
  if (waits(notice)) {
    if (notice.holding) look_above(*notice.holding);
    wait_told_ = true;
    if (rewrite_every() > 0s)
      return log_in_place(wait_row(notice, terminal_columns(STDERR_FILENO)));
  }
  const std::string text =
      waits(notice) ? wait_text(notice, Detail::full) : notice_text(notice, name_of(notice.which));
  std::string json;
  say(form.level,
      {.name = form.event, .text = text, .fields = notice_fields(notice)},
      notifies ? &json : nullptr);
  if (!notifies) return;
  // After these events the run ends, and the outcome is named like the event.
  const bool over =
      event == NotifyEvent::done || event == NotifyEvent::unavailable || event == NotifyEvent::busy;
  notifier_->note(*event, std::move(json), over ? form.event : "");
}

void Voice::on_acted() {
  if (notifier_ != nullptr) notifier_->start_noted();
}

Duration Voice::rewrite_every() {
  return !logs_json() && understands_escapes() ? 1s : 0s;
}

// Returns what the claim waits for, as in "to read "db"" or "for one of 3 slots of "db"".
std::string Voice::wanted(const std::string& name) const {
  switch (mode_) {
    case Mode::plain:
      break;
    case Mode::exclusive:
      return "to write " + name;
    case Mode::shared:
      return "to read " + name;
    case Mode::slots:
      return "for one of " + std::to_string(slots_) + " slots of " + name;
  }
  return "for " + name;
}

// Returns the other names of a claim for one of several, as in " or 2 others".
std::string Voice::others(const char* between) const {
  if (!one_of_) return "";
  const std::size_t count = names_.size() - 1;
  return between + std::to_string(count) + (count == 1 ? " other" : " others");
}

std::string Voice::wait_text(const Notice& notice, Detail detail, Start start) const {
  const auto whole = [](Duration span) {
    return format_duration(std::chrono::floor<std::chrono::seconds>(span));
  };
  const bool away = notice.kind == Notice::Kind::store_away;
  // In a quorum some of the listed servers may have answered.
  const bool several = store_.find(", ") != std::string::npos;
  const std::string silent =
      (several ? "no answer from a majority of " : "no answer from ") + store_;
  const std::string reason = notice.text.empty() ? silent : notice.text;
  const std::string retrying =
      "retrying for " + format_duration(std::chrono::ceil<std::chrono::seconds>(notice.left));
  // The reason comes before the times: on a terminal the end of the row may be cut.
  if (!notice.holding) return reason + "; " + retrying;
  const Holding& holding = *notice.holding;
  std::string text = "waiting " + whole(notice.span);
  if (start == Start::full) text += " " + wanted(name_of(notice.which) + others(" or "));
  if (away) return text + ": " + reason + "; away for " + whole(notice.seen_ago) + ", " + retrying;
  text += ", ";
  if (start != Start::no_place) text += place_text(notice.place, holding.waiting);
  return text + holder_text(holding, notice.seen_ago, detail);
}

// Returns at most one column less than the row has: on some terminals a full row would begin the
// next one.
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
  std::string text = name_of(refusal.which);
  if (refusal.by_ancestor) {
    text += " is " + self_deadlock_text(holding, mode_);
  } else {
    text += others(" and ") + (one_of_ ? " are" : " is") + " busy" + asked(mode_, slots_) + ": " +
            holder_text(holding, seen_ago);
    if (holding.waiting > 0 && refusal.place == 0) {
      text += ", " + std::to_string(holding.waiting) + " waiting";
    }
  }
  std::vector<LogEvent::Field> fields;
  if (wants_fields()) fields = {{"holder", holder_fields(holding, seen_ago)}};
  std::string json;
  const bool notifies = this->notifies(NotifyEvent::busy);
  say(LogLevel::warn,
      {.name = "busy", .text = text, .fields = std::move(fields)},
      notifies ? &json : nullptr);
  if (notifies) notifier_->note(NotifyEvent::busy, std::move(json), "busy");
  for (const Vote& vote : holding.votes)
    say(LogLevel::warn, {.name = "vote", .text = vote_text(vote, seen_ago)});
}

void Voice::on_guard(const std::string& what) {
  say(LogLevel::info, {.name = "guard_replaced", .text = what});
}

}  // namespace dlock
