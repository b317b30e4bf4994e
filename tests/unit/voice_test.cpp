// SPDX-License-Identifier: MIT
// What dlock reports about a run, at which level, and which JSON event belongs to each notice.
#include "cmd/voice.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/display.hpp"
#include "sys/forked.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "support/has.hpp"
#include "unit/held.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;
using test::held;
using Kind = Notice::Kind;

namespace {

// Returns the value of a field of a JSON object as it is written; empty: there is no such field.
std::string value_of(std::string_view object, const std::string& field) {
  const std::string start = "\"" + field + "\":";
  const std::size_t at = object.find(start);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = object.substr(at + start.size());
  return std::string(rest.substr(0, rest.find(',')));
}

// Returns what the notices print on stderr for people.
std::string said(const std::vector<Notice>& notices,
                 LogLevel level = LogLevel::debug,
                 Mode mode = Mode::plain) {
  std::array<int, 2> ends{};
  DLOCK_ASSERT(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  ::dup2(ends[1], STDERR_FILENO);
  set_up_log({.level = level});
  Voice voice({*LockName::parse("n")}, mode, "the store", nullptr, /*slots=*/3);
  for (const Notice& notice : notices)
    voice.on_notice(notice);
  std::array<char, 4096> buffer{};
  const ssize_t n = ::read(ends[0], buffer.data(), buffer.size());
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
}

// Returns the names of the events for the notices, and those fields that distinguish them.
std::string events_of(const std::vector<Notice>& notices) {
  std::array<int, 2> ends{};
  DLOCK_ASSERT(::pipe2(ends.data(), O_CLOEXEC) == 0);
  ::dup2(ends[1], STDERR_FILENO);
  set_up_log({.level = LogLevel::debug, .json = true});
  Voice voice({*LockName::parse("n")}, Mode::plain);
  for (const Notice& notice : notices)
    voice.on_notice(notice);
  std::array<char, 65536> buffer{};
  const ssize_t n = ::read(ends[0], buffer.data(), buffer.size());
  std::string names;
  for (const std::string_view line :
       split({buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))}, '\n')) {
    names += (names.empty() ? "" : " ") + value_of(line, "event");
    for (const char* const field : {"signal", "code", "errno", "left_ns", "place", "waiting"})
      names += value_of(line, field);
  }
  return names;
}

}  // namespace

TEST_CASE("every notice is an event") {
  std::vector<Notice> notices;
  for (int kind = 0; kind <= static_cast<int>(Kind::released); ++kind) {
    notices.push_back({.kind = static_cast<Kind>(kind), .holding = held(), .span = 5ns});
    if (notices.back().kind != Kind::granted) continue;
    notices.back().holds.push_back({.name = *LockName::parse("n"), .owner = "u:1", .serial = "s"});
  }
  CHECK(test::forked([&] { return events_of(notices); }) ==
        R"("splay" "polling" "untracked" "waiting" "store_away" "unknown" "reclaimed" )"
        R"("unavailable" "unlocked" "granted" "renewed" "moved" "lost" "revoked" "lapsing" )"
        R"("time_up" "kill"9 "cannot_kill"9 "outlived" "strays" "leftovers" )"
        R"("release_unknown"5 "lost_at_release" "superseded" )"
        R"("done" "term"0 "signal"0 "reaped"0 "released")");
}

TEST_CASE("a place in line is reported in words and in figures") {
  Notice notice{.kind = Notice::Kind::waiting, .holding = held(), .span = 5s};
  notice.holding->waiting = 7;
  CHECK(test::forked([&] { return events_of({notice}); }) == R"("waiting")");
  notice.place = 3;
  CHECK(test::forked([&] { return events_of({notice}); }) == R"("waiting"37)");
  CHECK(test::forked([&] {
          return said({notice});
        }).find("waiting 5s for \"n\", 3rd of 7, held by deploy@ci-4") != std::string::npos);
  notice.place = 0;
  CHECK(test::forked([&] {
          return said({notice});
        }).find("waiting 5s for \"n\", held by deploy@ci-4") != std::string::npos);
}

TEST_CASE("a loss names the present holder, with its control characters escaped") {
  Notice notice{.kind = Kind::lost, .holding = held()};
  notice.holding->holds.front().who.host = "\x1b[2J\n";
  CHECK(test::forked([&] {
          return said({notice});
        }).starts_with("dlock: lost \"n\": it is held by deploy@\\x1b[2J\\n pid 812 (job) for "));
  notice.runs_on = true;
  notice.holding = Holding{};
  CHECK(test::forked([&] { return said({notice}); }) ==
        "dlock: lost \"n\": it is free; the command runs on without the lock (--on-lost warn)\n");
  CHECK(test::forked(
            [&] { return said({{.kind = Kind::revoked, .text = "bob@ops", .runs_on = true}}); }) ==
        "dlock: \"n\" was revoked by bob@ops; the command runs on without the lock "
        "(--on-lost warn)\n");
}

TEST_CASE("a lease that ran out under --on-lost warn says whether it has expired") {
  Notice notice{.kind = Kind::lapsing, .text = "no answer", .span = 2s, .runs_on = true};
  CHECK(test::forked([&] { return said({notice}); }) ==
        "dlock: cannot renew \"n\" before its lease ends in 2s (no answer); the command runs on "
        "without the lock (--on-lost warn)\n");
  notice.text = "";
  notice.span = {};
  notice.kill = KillReason::lapsed;
  CHECK(test::forked([&] { return said({notice}); }) ==
        "dlock: the lease of \"n\" has expired; the command runs on without the lock (--on-lost "
        "warn)\n");
}

TEST_CASE("an outage is reported with its reason first, then its start and its length") {
  const std::string why = "cannot reach redis://db:6379/0: connection refused";
  Notice notice{.kind = Kind::store_away, .text = why, .span = 12300ms, .left = 24100ms};
  CHECK(test::forked([&] { return said({notice}); }) == "dlock: " + why + "; retrying for 25s\n");
  notice.holding = held();
  CHECK(test::forked([&] { return said({notice}); }) ==
        "dlock: waiting 12s for \"n\": " + why + "; away for 0ms, retrying for 25s\n");
}

namespace {

Notice waiting(Duration span) {
  return {.kind = Kind::waiting, .holding = held(), .span = span};
}

Notice granted(Duration span) {
  Notice notice{.kind = Kind::granted, .span = span};
  notice.holds.push_back(
      {.name = *LockName::parse("n"), .owner = "u:1", .serial = "s", .token = 7, .who = {}});
  return notice;
}

std::string heard(const std::vector<Notice>& notices, LogLevel level, Mode mode = Mode::plain) {
  return test::forked([&] { return said(notices, level, mode); });
}

}  // namespace

TEST_CASE("a reported wait is followed by its grant, with the time that it took") {
  CHECK(
      has(heard({waiting(1s), granted(12s)}, LogLevel::warn), "dlock: acquired \"n\" after 12s\n"));
  CHECK(heard({granted(900ms)}, LogLevel::warn).empty());
  CHECK(heard({waiting(1s), granted(12s)}, LogLevel::error).empty());
  CHECK(heard({granted(2ms)}, LogLevel::info) == "dlock: acquired \"n\" after 2ms, token 7\n");
}

TEST_CASE("a wait names the mode that is wanted unless that is plain") {
  CHECK(has(heard({waiting(5s)}, LogLevel::warn), "waiting 5s for \"n\", held by "));
  CHECK(has(heard({waiting(5s)}, LogLevel::warn, Mode::shared), "waiting 5s to read \"n\", held"));
  CHECK(has(heard({waiting(5s)}, LogLevel::warn, Mode::exclusive),
            "waiting 5s to write \"n\", held"));
  CHECK(has(heard({waiting(5s)}, LogLevel::warn, Mode::slots),
            "waiting 5s for one of 3 slots of \"n\","));
}

TEST_CASE("a row of a wait keeps the holder longest, before the name that the user gave") {
  Notice notice = waiting(5s);
  notice.holding->holds.front().who.host = "ci-4.build.example.org";
  notice.holding->holds.front().who.reason = "nightly import";
  const Voice voice({*LockName::parse("n")}, Mode::plain);
  const auto row = [&](std::size_t columns) { return voice.wait_row(notice, columns); };
  ::setenv("LC_ALL", "C.UTF-8", 1);
  CHECK(row(200) ==
        "waiting 5s for \"n\", held by deploy@ci-4.build.example.org pid 812 (job) for 2m10s, "
        "lease 21s left: nightly import");
  CHECK(
      row(100) ==
      "waiting 5s for \"n\", held by deploy@ci-4 (job) for 2m10s, lease 21s left: nightly import");
  CHECK(row(92) == "waiting 5s for \"n\", held by deploy@ci-4 (job) for 2m10s, lease 21s left");
  CHECK(row(70) == "waiting 5s for \"n\", held by deploy@ci-4 (job) for 2m10s");
  CHECK(row(60) == "waiting 5s for \"n\", held by deploy@ci-4 for 2m10s");
  CHECK(row(50) == "waiting 5s for \"n\", held by deploy@ci-4");
  notice.place = 3;
  notice.holding->waiting = 7;
  CHECK(row(52) == "waiting 5s, 3rd of 7, held by deploy@ci-4");
  CHECK(row(40) == "waiting 5s, held by deploy@ci-4");
  CHECK(row(30) == "waiting 5s, held by d…");
  ::setenv("LC_ALL", "C", 1);
  CHECK(row(30) == "waiting 5s, held by...");
  CHECK(row(8) == "");
  CHECK(row(0) == "");
  ::unsetenv("LC_ALL");
}

TEST_CASE("the locale is that of LC_ALL, then LC_CTYPE, then LANG") {
  CHECK(test::forked([] {
          std::string said;
          const auto with = [&](const char* all, const char* ctype, const char* lang) {
            ::setenv("LC_ALL", all, 1);
            ::setenv("LC_CTYPE", ctype, 1);
            ::setenv("LANG", lang, 1);
            said += locale_has_utf8() ? "u" : "-";
          };
          with("C.UTF-8", "C", "C");
          with("", "de_DE.utf8", "C");
          with("", "", "en_US.UTF-8@euro");
          with("C", "en_US.UTF-8", "en_US.UTF-8");
          with("POSIX", "", "");
          with("", "de_DE.ISO-8859-1", "en_US.UTF-8");
          with("", "", "");
          return said;
        }) == "uuu----");
}

TEST_CASE("the reason why the command is killed") {
  const auto killed = [](KillReason why) {
    return heard({{.kind = Kind::killed, .kill = why}}, LogLevel::error);
  };
  CHECK(killed(KillReason::grace_over) ==
        "dlock: \"n\": the command did not end in time; killing it\n");
  CHECK(killed(KillReason::second_signal) ==
        "dlock: \"n\": second signal: killing the command now\n");
  // Said once, by the notice that comes before.
  const std::string lapsed =
      "dlock: \"n\": the lease expired while dlock was stopped; killing the command\n";
  for (const Kind kind : {Kind::lapsing, Kind::time_up}) {
    CHECK(heard({{.kind = kind, .kill = KillReason::lapsed},
                 {.kind = Kind::killed, .kill = KillReason::lapsed}},
                LogLevel::error) == lapsed);
  }
}

TEST_CASE("--quiet keeps what dlock did to the command, and what was not safe") {
  for (const Kind kind : {Kind::time_up,
                          Kind::lost,
                          Kind::revoked,
                          Kind::lapsing,
                          Kind::killed,
                          Kind::leftovers,
                          Kind::lost_at_release}) {
    CHECK_FALSE(heard({{.kind = kind}}, LogLevel::error).empty());
  }
  for (const Kind kind : {Kind::signalled, Kind::passed_on, Kind::released, Kind::strays}) {
    CHECK(heard({{.kind = kind, .signal = 15}}, LogLevel::error).empty());
  }
}

TEST_CASE("--verbose adds the release, and which signal the command gets") {
  CHECK(heard({{.kind = Kind::released}}, LogLevel::info) == "dlock: released \"n\"\n");
  for (const Kind kind : {Kind::signalled, Kind::passed_on}) {
    CHECK(heard({{.kind = kind, .signal = 15}}, LogLevel::info) ==
          "dlock: \"n\": sending SIGTERM to the command\n");
    CHECK(heard({{.kind = kind, .signal = 15}}, LogLevel::warn).empty());
  }
}

TEST_CASE("the same notice may be different events") {
  const std::vector<Notice> notices{
      {.kind = Kind::signalled, .signal = 10},
      {.kind = Kind::signalled, .signal = 9},
      {.kind = Kind::ended, .child = {ChildStatus::Kind::exited, 3}},
      {.kind = Kind::ended, .child = {ChildStatus::Kind::signalled, 15}},
      {.kind = Kind::ended, .child = {ChildStatus::Kind::not_started, 2}},
  };
  CHECK(test::forked([&] { return events_of(notices); }) ==
        R"("term"10 "kill"9 "reaped"3 "reaped"15 "reaped"2)");
}

namespace {

std::vector<LockName> three_names() {
  return {*LockName::parse("a b"), *LockName::parse("c"), *LockName::parse("d")};
}

// Returns what `say` prints on stderr with a voice for three names.
template <class Say>
std::string said_of_three(bool json, const Say& say) {
  return test::forked([&] {
    std::array<int, 2> ends{};
    DLOCK_ASSERT(::pipe2(ends.data(), O_CLOEXEC) == 0);
    ::dup2(ends[1], STDERR_FILENO);
    set_up_log({.level = LogLevel::debug, .json = json});
    Voice voice(three_names(), Mode::plain);
    say(voice);
    std::array<char, 65536> buffer{};
    const ssize_t n = ::read(ends[0], buffer.data(), buffer.size());
    return std::string(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  });
}

}  // namespace

TEST_CASE("of several names a grant lists all, and a wait the one that is in the way") {
  Notice in_the_way = waiting(5s);
  in_the_way.which = 1;
  const std::string text = said_of_three(false, [&](Voice& voice) {
    voice.on_notice(in_the_way);
    voice.on_notice({.kind = Notice::Kind::renewed, .span = 9s});
    voice.busy({.holding = *in_the_way.holding, .which = 1}, {});
  });
  CHECK(has(text, "waiting 5s for \"c\", held by deploy@ci-4"));
  CHECK(has(text, "renewed \"a b\", \"c\" and \"d\", lease good for 9s"));
  CHECK(has(text, "\"c\" is busy: held by deploy@ci-4"));
}

TEST_CASE("a failover in JSON names both servers") {
  const std::string all = said_of_three(true, [&](Voice& voice) {
    voice.on_notice({.kind = Kind::moved, .text = "b", .before = "a"});
  });
  CHECK(has(all, R"("server":"b","before":"a")"));
}

TEST_CASE("a claim that would wait for its own ancestor is explained") {
  Refusal refusal{.holding = held(), .which = 2, .by_ancestor = true};
  refusal.holding.mode = Mode::shared;
  const std::string text = said_of_three(false, [&](Voice& voice) { voice.busy(refusal, {}); });
  CHECK(has(text,
            "\"d\" is held shared by an ancestor of this run: a plain claim would "
            "deadlock\n"));
}

TEST_CASE("a wait in JSON has the holder as an object, with its reason and its lease") {
  Notice notice = waiting(5s);
  notice.seen_ago = 500ms;
  const std::string all = said_of_three(true, [&](Voice& voice) {
    voice.on_notice(notice);
    voice.busy({.holding = *notice.holding}, 500ms);
  });
  const std::string holder = R"("holder":{"host":"ci-4","pid":812,"user":"deploy","command":"job",)"
                             R"("reason":"","age_ms":130500,"lease_left_ms":20500,)"
                             R"("lease_left":"exact"})";
  for (const std::string_view line : split(all, '\n'))
    CHECK(has(std::string(line), holder));

  notice.holding->holds.clear();
  notice.holding->lease_left = LeaseLeft::never();
  CHECK(has(said_of_three(true, [&](Voice& voice) { voice.on_notice(notice); }),
            R"("holder":{"owner":"u:1","lease_left":"never"})"));
  notice.holding->kind = Holding::Kind::foreign;
  notice.holding->type = "ShedLock";
  CHECK(has(said_of_three(true, [&](Voice& voice) { voice.on_notice(notice); }),
            R"("holder":{"type":"ShedLock","owner":"u:1","lease_left":"never"})"));
  notice.holding->owners.clear();
  notice.holding->lease_left = {};
  CHECK(has(said_of_three(true, [&](Voice& voice) { voice.on_notice(notice); }),
            R"("holder":{"type":"ShedLock","lease_left":"unknown"})"));
}

TEST_CASE("a grant in JSON: names, tokens, mode") {
  Notice of_three{.kind = Notice::Kind::granted, .span = 1ms};
  for (const LockName& name : three_names()) {
    of_three.holds.push_back({.name = name,
                              .owner = "u:1",
                              .serial = "s",
                              .token = 7 + of_three.holds.size(),
                              .who = {},
                              .mode = Mode::slots,
                              .slot = 2});
  }
  const std::string text = said_of_three(true, [&](Voice& voice) { voice.on_notice(of_three); });
  for (const char* const part : {R"("lock":"a%20b c d")",
                                 R"("hold":"u:1#s")",
                                 R"("token":7)",
                                 R"("tokens":"7 8 9")",
                                 R"("mode":"slots")",
                                 R"("slot":2)"}) {
    CAPTURE(part);
    CHECK(has(text, part));
  }
}

TEST_CASE("the end of --max-hold, and a run that --once-per makes unnecessary") {
  const std::string text = said_of_three(false, [&](Voice& voice) {
    voice.on_notice({.kind = Notice::Kind::time_up, .span = 10s});
    voice.on_notice({.kind = Notice::Kind::time_up});
    voice.on_notice({.kind = Notice::Kind::done_before, .text = "1h", .span = 12min});
  });
  CHECK(has(text, "\"d\": --max-hold 10s has passed; stopping the command\n"));
  CHECK(has(text, "\"d\": the lease ends and is not renewed (--no-renew); stopping the command\n"));
  CHECK(has(text, "\"d\": a run that began 12m ago succeeded (--once-per 1h)\n"));
}

}  // namespace dlock
