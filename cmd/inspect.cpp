// SPDX-License-Identifier: MIT
// dlock inspect and dlock list: show the state of locks, as text for people and as JSON for
// programs.
#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/display.hpp"
#include "cmd/json_output.hpp"
#include "cmd/lock_metrics.hpp"
#include "cmd/lock_selection.hpp"
#include "cmd/lock_table.hpp"
#include "cmd/output.hpp"
#include "cmd/voice.hpp"
#include "sys/terminal.hpp"

#include <unistd.h>

#include <algorithm>

namespace dlock {

namespace {

using Holdings = std::vector<NamedHolding>;

bool on_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

std::string one_line(const std::string& name, const Holding& holding) {
  std::string text = printable(name) + ": " + holder_text(holding);
  if (const FencingToken token = token_of(holding); token != 0)
    text += " [token " + std::to_string(token) + "]";
  if (holding.waiting > 0) text += ", " + std::to_string(holding.waiting) + " waiting";
  return text + "\n";
}

std::string own_lease(const Holding::Owner& owner) {
  const std::string lease = lease_text(owner.lease_left);
  return lease.empty() ? "" : ", " + lease;
}

// Returns the line of a holder that is not dlock or has several holds.
std::string owner_line(const Holding::Owner& owner) {
  return "  owner " + printable(owner.id) + ", holds " + printable(owner.count) + own_lease(owner) +
         "\n";
}

std::string hold_text(const HoldRecord& hold, const Holding& holding) {
  std::string text = hold.kept ? "  kept by " : "  hold by ";
  text += who_text(hold.who) + " for " + format_duration(age_of(hold, holding));
  // A ShedLock table records no ttl and no command.
  if (hold.ttl > Duration::zero())
    text += ", ttl " + format_duration(hold.ttl) + ", command " + in_quotes(hold.who.command);
  if (hold.slot) {
    text += ", slot " + std::to_string(*hold.slot);
  } else if (hold.mode != Mode::plain) {
    text += ", " + std::string(mode_word(hold.mode));
  }
  return text;
}

std::vector<const HoldRecord*> holds_of(const Holding::Owner& owner, const Holding& holding) {
  std::vector<const HoldRecord*> holds;
  for (const HoldRecord& hold : holding.holds) {
    if (is_hold_of(hold.id, owner.id)) holds.push_back(&hold);
  }
  return holds;
}

// Returns one line for a holder with a single hold; otherwise one for the owner and one for each
// hold.
std::string holder_lines(const Holding::Owner& owner, const Holding& holding) {
  const auto holds = holds_of(owner, holding);
  if (holds.size() == 1 && owner.count == "1") {
    return hold_text(*holds.front(), holding) + own_lease(owner) + ", owner " +
           printable(owner.id) + "\n";
  }
  std::string text = owner_line(owner);
  for (const HoldRecord* hold : holds)
    text += hold_text(*hold, holding) + "\n";
  return text;
}

std::string wish_text(const Waiter& waiter) {
  switch (waiter.mode) {
    case Mode::plain:
      return "";
    case Mode::exclusive:
      return ", to write";
    case Mode::shared:
      return ", to read";
    case Mode::slots:
      return ", for one of " + std::to_string(waiter.slots) + " slots";
  }
  return "";
}

std::string waiter_line(const Waiter& waiter, std::uint64_t place, const Holding& holding) {
  const HoldRecord since{.since_ms = waiter.since_ms};
  const std::string start = "  " + ordinal(place) + " in line ";
  // A waiter that is not dlock is known only by a text, which `who.command` has.
  if (waiter.who.host.empty()) return start + printable(waiter.who.command) + '\n';
  return start + who_text(waiter.who) + " for " + format_duration(age_of(since, holding)) +
         wish_text(waiter) + ", command " + in_quotes(waiter.who.command) +
         (waiter.who.reason.empty() ? "" : ": " + printable(waiter.who.reason)) + "\n";
}

// Returns how a run ended: "exit status 3", "signal 15", "lost, exit status 143".
std::string end_text(const LastRun& last) {
  const bool plain = last.outcome == "child";
  std::string text = plain ? "" : printable(last.outcome);
  if (last.exit_status)
    text += (plain ? "" : ", ") + ("exit status " + std::to_string(*last.exit_status));
  if (last.signal) text += (plain ? "" : ", ") + ("signal " + std::to_string(*last.signal));
  return text;
}

std::string last_text(const LastRun& last, std::int64_t now_ms) {
  const auto between = [](std::int64_t from, std::int64_t to) {
    return format_duration(std::chrono::milliseconds(std::max<std::int64_t>(to - from, 0)));
  };
  const std::string name = short_command(last.who);
  std::string text = "  last run: " + who_text(last.who) + (name.empty() ? "" : " (" + name + ")");
  text += " for " + between(last.since_ms, last.ended_ms);
  if (last.waited.value_or(Duration::zero()) >= std::chrono::seconds(1))
    text += " after a wait of " + format_duration(*last.waited);
  text += ", ended " + between(last.ended_ms, now_ms) + " ago: " + end_text(last) + "\n";
  if (last.later_is_silent)
    text +=
        "  a later run did not report its end: it was killed, lost its lease, or ran with "
        "--keep-last 0\n";
  return text;
}

std::string in_full(const std::string& name, const Holding& holding) {
  std::string text = one_line(name, holding);
  for (const Holding::Owner& owner : holding.owners)
    text += holder_lines(owner, holding);
  if (!holding.lists_all_owners()) {
    const bool alone = holding.mode == Mode::plain || holding.mode == Mode::exclusive;
    text += "  " + std::to_string(holding.owner_count) + " owners" +
            (alone ? ": not a lock of Redisson's or dlock's making\n" : "\n");
  }
  std::uint64_t place = 0;
  for (const Waiter& waiter : holding.line)
    text += waiter_line(waiter, ++place, holding);
  for (const Vote& vote : holding.votes)
    text += "  " + vote_text(vote) + "\n";
  if (holding.last) text += last_text(*holding.last, holding.now_ms);
  if (holding.success) {
    text += "  a run that began " + format_duration(holding.success->ago) +
            " ago succeeded; --once-per remembers it for " +
            format_duration(holding.success->left) + " more\n";
  }
  return text;
}

// Turns the error about a lock that cannot be read into a holding that says so, so that `list`
// still shows the other locks. The lock may be damaged or written by a newer dlock, or we may lack
// the right. nullopt: the error does not concern this lock alone.
std::optional<Holding> unreadable(const Error& error) {
  const bool of_this_lock =
      error.code == Errc::refused || error.code == Errc::bad_config || error.code == Errc::denied;
  if (!of_this_lock) return std::nullopt;
  Holding holding{.kind = Holding::Kind::foreign};
  holding.type = "unreadable";
  holding.doubt = error.text;
  return holding;
}

enum class Unreadable { fails, is_shown };

Result<Holdings> look_at(LockStore& store,
                         const std::vector<std::string>& names,
                         Unreadable how,
                         const Settings& settings) {
  Holdings holdings;
  for (const std::string& text : names) {
    auto name = LockName::parse(text);
    if (!name) return name.error();
    auto holding = store.inspect(*name, BootClock::now() + settings.connect_timeout);
    if (!holding && how == Unreadable::is_shown) {
      if (auto shown = unreadable(holding.error())) holding = std::move(*shown);
    }
    if (!holding)
      return Error{holding.error().code,
                   "cannot inspect " + in_quotes(text) + ": " + holding.error().text};
    auto key = store.key_of(*name);  // cannot fail: inspect would have refused the name
    holdings.push_back({text, key ? *key : text, std::move(*holding)});
  }
  return holdings;
}

ExitStatus print(const Settings& settings, const std::string& text) {
  auto written = write_out(text);
  return written ? ExitStatus::ok : report(written.error(), settings);
}

ExitStatus answer(bool yes) {
  return yes ? ExitStatus::ok : ExitStatus::no;
}

bool is_taken(const Holding& holding) {
  return holding.kind != Holding::Kind::none || holding.frozen;
}

// Returns the locks that match the pattern and are held, kept or frozen.
Result<Holdings> held_locks(LockStore& store, const std::string& glob, const Settings& settings) {
  auto names = store.list(glob, BootClock::now() + settings.connect_timeout);
  if (!names) return Error{names.error().code, "cannot list locks: " + names.error().text};
  // The pattern may match keys of other programs: leave out those that are no valid lock names.
  std::erase_if(*names, [&](const std::string& text) {
    const auto name = LockName::parse(text);
    return !name || !store.key_of(*name);
  });
  auto holdings = look_at(store, *names, Unreadable::is_shown, settings);
  if (holdings) std::erase_if(*holdings, [](const auto& one) { return !is_taken(one.holding); });
  return holdings;
}

// Returns each name followed by `end`. On a terminal the names cannot move the cursor.
std::string only_names(const Holdings& locks, char end) {
  const bool shown = on_terminal();
  std::string text;
  for (const NamedHolding& one : locks)
    text += (shown ? printable(one.name) : one.name) + end;
  return text;
}

std::string as_text(const Holdings& locks) {
  if (on_terminal()) return lock_table(locks, terminal_columns(STDOUT_FILENO), locale_has_utf8());
  std::string text;
  for (const NamedHolding& one : locks)
    text += one_line(one.name, one.holding);
  return text;
}

// Returns the metrics. On a terminal a name in them cannot move the cursor.
std::string as_metrics(const Holdings& locks, const LockStore& store) {
  std::string metrics = lock_metrics(locks, store.traits().line);
  if (!on_terminal()) return metrics;
  std::string text;
  for (const std::string_view one : split(metrics, '\n'))
    text += printable(one) + '\n';
  return text;
}

std::string in_format(const Holdings& locks, LockSelection::Format format, const LockStore& store) {
  using Format = LockSelection::Format;
  switch (format) {
    case Format::text:
      break;
    case Format::json:
      return holdings_json(locks);
    case Format::prometheus:
      return as_metrics(locks, store);
    case Format::names:
      return only_names(locks, '\n');
    case Format::names_with_nul:
      return only_names(locks, '\0');
  }
  return as_text(locks);
}

}  // namespace

ExitStatus inspect_command(const CommandLine& line, const Settings& settings) {
  if (line.waited && !settings.quiet)
    return report({Errc::bad_usage, "--waited needs -q: its answer is the exit status"}, settings);
  auto store = open_store(settings);
  if (!store) return report(store.error(), settings);
  if (line.waited && !(*store)->traits().line)
    return report(lacks(**store, "a line of waiters (--waited)"), settings);
  auto holdings = look_at(**store, line.names, Unreadable::fails, settings);
  if (!holdings) return report(holdings.error(), settings);
  if (line.waited) {
    return answer(std::any_of(holdings->begin(), holdings->end(), [](const auto& one) {
      return one.holding.waiting > 0;
    }));
  }
  if (settings.quiet) {
    return answer(std::all_of(
        holdings->begin(), holdings->end(), [](const auto& one) { return is_taken(one.holding); }));
  }
  if (line.json) return print(settings, holdings_json(*holdings));
  std::string text;
  for (const NamedHolding& one : *holdings)
    text += in_full(one.name, one.holding);
  if (on_terminal()) text = wrapped(text, terminal_columns(STDOUT_FILENO));
  return print(settings, text);
}

ExitStatus list_command(const CommandLine& line, const Settings& settings) {
  const auto selection = LockSelection::of(line);
  if (!selection) return report(selection.error(), settings);
  auto store = open_store(settings);
  const std::string glob = line.names.empty() ? "*" : line.names.front();
  auto locks = store ? held_locks(**store, glob, settings) : Result<Holdings>(store.error());
  if (!locks) {
    // Without dlock_up, an outage would look like a scrape that does not run.
    if (selection->format() == LockSelection::Format::prometheus)
      static_cast<void>(write_out(metrics_without_store()));
    return report(locks.error(), settings);
  }
  std::erase_if(*locks, [&](const auto& one) { return !selection->has(one.holding); });
  return print(settings, in_format(*locks, selection->format(), **store));
}

}  // namespace dlock
