// SPDX-License-Identifier: MIT
// How a holder is told to people: never with somebody else's control characters in it. And which
// event of JSON each notice is.
#include "cmd/voice.hpp"

#include "base/log.hpp"
#include "sys/forked.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "support/has.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;
using Kind = Notice::Kind;

namespace {

HoldRecord record(std::int64_t since_ms) {
  return {.id = "u:1#s",
          .who = {.host = "ci-4", .pid = 812, .user = "deploy", .command = "job", .reason = ""},
          .token = 5,
          .since_ms = since_ms,
          .ttl = 30s};
}

Holding held() {
  Holding holding{.kind = Holding::Kind::lock, .type = "hash"};
  holding.owners = {{"u:1", "1"}};
  holding.owner_count = 1;
  holding.holds = {record(1000)};
  holding.lease_left = 21s;
  holding.now_ms = 131000;
  return holding;
}

}  // namespace

TEST_CASE("a dlock holder: who, where, for how long, and how long still") {
  Holding holding = held();
  CHECK(holder_text(holding) == "held by deploy@ci-4 pid 812 for 2m10s, lease 21s left");
  holding.holds.front().who.reason = "nightly import";
  CHECK(holder_text(holding) ==
        "held by deploy@ci-4 pid 812 for 2m10s, lease 21s left: nightly import");
  holding.revoked_by = "ann@desk";
  CHECK(holder_text(holding) ==
        "held by deploy@ci-4 pid 812 for 2m10s, lease 21s left, revoked by ann@desk: nightly "
        "import");
}

TEST_CASE("what was seen a while ago is aged") {
  const Holding holding = held();
  CHECK(holder_text(holding, 10s) == "held by deploy@ci-4 pid 812 for 2m20s, lease 11s left");
  CHECK(holder_text(holding, 1min) == "held by deploy@ci-4 pid 812 for 3m10s, lease 0ms left");
}

TEST_CASE("of nested holds the first one is told") {
  Holding holding = held();
  HoldRecord first = record(500);
  first.who.host = "outer";
  holding.holds.push_back(first);
  CHECK(holder_text(holding).find("deploy@outer") != std::string::npos);
}

TEST_CASE("who holds it shared, and how many others") {
  Holding holding = held();
  holding.mode = Mode::shared;
  CHECK(holder_text(holding) == "held shared by deploy@ci-4 pid 812 for 2m10s, lease 21s left");
  holding.owner_count = 2;
  CHECK(holder_text(holding) ==
        "held shared by deploy@ci-4 pid 812 for 2m10s and 1 other, lease 21s left");
  holding.owner_count = 3;
  holding.holds.front().who.reason = "reads";
  CHECK(holder_text(holding) ==
        "held shared by deploy@ci-4 pid 812 for 2m10s and 2 others, lease 21s left: reads");
  holding.holds.clear();
  CHECK(holder_text(holding) == "held shared by u:1 (not dlock) and 2 others, lease 21s left");
}

TEST_CASE("who holds it for writing") {
  Holding holding = held();
  holding.mode = Mode::write;
  holding.owner_count = 2;  // its own read holds
  CHECK(holder_text(holding) == "held by deploy@ci-4 pid 812 for 2m10s, lease 21s left");
}

TEST_CASE("how many of the slots are held, and by whom") {
  Holding holding = held();
  holding.mode = Mode::slots;
  holding.slots = 3;
  CHECK(holder_text(holding) ==
        "1 of 3 slots held, by deploy@ci-4 pid 812 for 2m10s, lease 21s left");
  holding.owner_count = 3;
  CHECK(holder_text(holding) ==
        "3 of 3 slots held, by deploy@ci-4 pid 812 for 2m10s and 2 others, lease 21s left");
}

TEST_CASE("what is only kept has nobody who runs under it") {
  Holding holding = held();
  holding.holds.front().kept = true;
  CHECK(holder_text(holding) == "kept by deploy@ci-4 pid 812 for 21s more (--min-hold)");
  CHECK(holder_text(holding, 11s) == "kept by deploy@ci-4 pid 812 for 10s more (--min-hold)");
  // Whoever runs is told first.
  holding.mode = Mode::shared;
  holding.owner_count = 2;
  HoldRecord running = record(2000);
  running.who.host = "ci-5";
  holding.holds.push_back(running);
  CHECK(holder_text(holding) ==
        "held shared by deploy@ci-5 pid 812 for 2m9s and 1 other, lease 21s left");
}

TEST_CASE("why waiting would be for ourselves") {
  Holding holding = held();
  holding.mode = Mode::shared;
  CHECK(self_deadlock_text(holding, Mode::exclusive) ==
        "held shared by the run above this one: an exclusive hold would wait for itself");
  CHECK(self_deadlock_text(holding, Mode::write) == self_deadlock_text(holding, Mode::exclusive));
  CHECK(self_deadlock_text(holding, Mode::slots) ==
        "held shared by the run above this one: a slot would wait for itself");
  holding.mode = Mode::slots;
  holding.slots = 3;
  CHECK(self_deadlock_text(holding, Mode::exclusive) ==
        "held as one of 3 slots by the run above this one: an exclusive hold would wait for "
        "itself");
  CHECK(self_deadlock_text(holding, Mode::shared) ==
        "held as one of 3 slots by the run above this one: a shared hold would wait for itself");
  CHECK(self_deadlock_text(holding, Mode::slots) ==
        "held as one of 3 slots by the run above this one: one of another number of slots would "
        "wait for itself");
  holding.mode = Mode::exclusive;
  CHECK(self_deadlock_text(holding, Mode::slots) ==
        "held by the run above this one: a slot would wait for itself");
}

TEST_CASE("a holder that is not dlock is told by its owner") {
  Holding holding = held();
  holding.holds.clear();
  CHECK(holder_text(holding) == "held by u:1 (not dlock), lease 21s left");
  holding.owners.clear();
  CHECK(holder_text(holding) == "held by ? (not dlock), lease 21s left");
}

TEST_CASE("a foreign lock is told by its type, and what never expires is told so") {
  Holding holding{.kind = Holding::Kind::foreign, .type = "string"};
  CHECK(holder_text(holding) == "held by a foreign lock (string), without expiry");
  holding.lease_left = 500ms;
  CHECK(holder_text(holding) == "held by a foreign lock (string), lease 500ms left");
  CHECK(holder_text(Holding{}) == "free");
}

TEST_CASE("a clock of the store that jumped does not make an age negative") {
  Holding holding = held();
  holding.now_ms = 0;
  CHECK(holder_text(holding).find("for 0ms") != std::string::npos);
}

TEST_CASE("foreign text is escaped, wherever it stands") {
  const std::string evil = "x\x1b[2J\n\u202ey";
  for (const auto& put : std::vector<void (*)(Holding&, const std::string&)>{
           [](Holding&h, const std::string&s) { h.holds.front().who.host = s; },
           [](Holding&h, const std::string&s) { h.holds.front().who.user = s; },
           [](Holding&h, const std::string&s) { h.holds.front().who.reason = s; },
           [](Holding&h, const std::string&s) { h.revoked_by = s; },
           [](Holding&h, const std::string&s) {
             h.holds.clear();
             h.owners.front().id = s;
           },
           [](Holding&h, const std::string&s) {
             h.kind = Holding::Kind::foreign;
             h.type = s;
           }}) {
    Holding holding = held();
    put(holding, evil);
    const std::string text = holder_text(holding);
    CHECK(text.find("x\\x1b[2J\\n\\u202ey") != std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
}

namespace {

// The value of a field of a JSON object as it stands there; empty: it has none.
std::string value_of(std::string_view object, const std::string& field) {
  const std::string start = "\"" + field + "\":";
  const std::size_t at = object.find(start);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = object.substr(at + start.size());
  return std::string(rest.substr(0, rest.find(',')));
}

// What stderr gets of a notice, as people read it.
std::string said(const Notice& notice) {
  std::array<int, 2> ends{};
  DLOCK_ASSERT(::pipe2(ends.data(), O_CLOEXEC) == 0);
  ::dup2(ends[1], STDERR_FILENO);
  set_up_log({.level = LogLevel::debug});
  Voice({*LockName::parse("n")}, Mode::exclusive, false).on_notice(notice);
  std::array<char, 4096> buffer{};
  const ssize_t n = ::read(ends[0], buffer.data(), buffer.size());
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
}

// The names of the events that `notices` are, and of fields that tell them apart.
std::string events_of(const std::vector<Notice>& notices) {
  std::array<int, 2> ends{};
  DLOCK_ASSERT(::pipe2(ends.data(), O_CLOEXEC) == 0);
  ::dup2(ends[1], STDERR_FILENO);
  set_up_log({.level = LogLevel::debug, .json = true});
  Voice voice({*LockName::parse("n")}, Mode::exclusive, false);
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
        R"("polling" "blind" "waiting" "store_away" "unknown" "granted" "renewed" "lost" )"
        R"("revoked" "lapsing" )"
        R"("time_up" "lost" "kill"9 "cannot_kill"9 "outlived" "strays" "leftovers" )"
        R"("release_unknown"5 "lost_at_release" "done" "term"0 "signal"0 "reaped"0 "released")");
}

TEST_CASE("a place in line is told in words and in figures") {
  Notice notice{.kind = Notice::Kind::waiting, .holding = held(), .span = 5s};
  notice.holding->waiting = 7;
  CHECK(test::forked([&] { return events_of({notice}); }) == R"("waiting")");
  notice.holding->place = 3;
  CHECK(test::forked([&] { return events_of({notice}); }) == R"("waiting"37)");
  CHECK(test::forked([&] {
          return said(notice);
        }).find("waiting 5s for \"n\", 3rd of 7, held by deploy@ci-4") != std::string::npos);
  notice.holding->place = 0;
  CHECK(test::forked([&] {
          return said(notice);
        }).find("waiting 5s for \"n\", held by deploy@ci-4") != std::string::npos);
}

TEST_CASE("a store that is away: the reason first, then since when and for how long") {
  const std::string why = "cannot reach redis://db:6379/0: connection refused";
  Notice notice{.kind = Kind::store_away, .text = why, .span = 12300ms, .left = 24100ms};
  CHECK(test::forked([&] { return said(notice); }) == "dlock: " + why + "; retrying for 25s\n");
  notice.holding = held();
  CHECK(test::forked([&] { return said(notice); }) ==
        "dlock: waiting 12s for \"n\": " + why + "; away for 0ms, retrying for 25s\n");
}

TEST_CASE("places are counted as people do") {
  for (const auto& [number, text] :
       std::vector<std::pair<std::uint64_t, std::string>>{{1, "1st"},
                                                          {2, "2nd"},
                                                          {3, "3rd"},
                                                          {4, "4th"},
                                                          {10, "10th"},
                                                          {11, "11th"},
                                                          {12, "12th"},
                                                          {13, "13th"},
                                                          {20, "20th"},
                                                          {21, "21st"},
                                                          {22, "22nd"},
                                                          {101, "101st"},
                                                          {111, "111th"},
                                                          {112, "112th"},
                                                          {113, "113th"},
                                                          {1000, "1000th"},
                                                          {1003, "1003rd"}}) {
    CHECK(ordinal(number) == text);
  }
}

TEST_CASE("a lock that is free, and whose turn it is") {
  Holding holding;
  CHECK(holder_text(holding) == "free");
  holding.waiting = 2;
  CHECK(holder_text(holding) == "free for the first in line");
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

// What stderr gets of whatever `say` has a voice say that speaks for three names.
template <class Say>
std::string said_of_three(bool json, const Say& say) {
  return test::forked([&] {
    std::array<int, 2> ends{};
    DLOCK_ASSERT(::pipe2(ends.data(), O_CLOEXEC) == 0);
    ::dup2(ends[1], STDERR_FILENO);
    set_up_log({.level = LogLevel::debug, .json = json});
    Voice voice(three_names(), Mode::exclusive, false);
    say(voice);
    std::array<char, 65536> buffer{};
    const ssize_t n = ::read(ends[0], buffer.data(), buffer.size());
    return std::string(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  });
}

}  // namespace

TEST_CASE("of several names all are told, and of a wait the one that is in the way") {
  Notice waiting{.kind = Notice::Kind::waiting, .holding = held(), .span = 5s};
  waiting.holding->which = 1;
  const std::string text = said_of_three(false, [&](Voice& voice) {
    voice.on_notice(waiting);
    voice.on_notice({.kind = Notice::Kind::renewed, .span = 9s});
    voice.busy(*waiting.holding, {});
  });
  CHECK(has(text, "waiting 5s for \"c\", held by deploy@ci-4"));
  CHECK(has(text, "renewed \"a b\", \"c\" and \"d\", lease good for 9s"));
  CHECK(has(text, "\"c\" is busy: held by deploy@ci-4"));
}

TEST_CASE("a wait for ourselves is explained") {
  Holding holding = held();
  holding.mode = Mode::shared;
  holding.by_ancestor = true;
  holding.which = 2;
  const std::string text = said_of_three(false, [&](Voice& voice) { voice.busy(holding, {}); });
  CHECK(has(text,
            "\"d\" is held shared by the run above this one: an exclusive hold would wait for "
            "itself\n"));
}

TEST_CASE("a grant in JSON: names, tokens, how it is held") {
  Notice granted{.kind = Notice::Kind::granted, .span = 1ms};
  for (const LockName& name : three_names()) {
    granted.holds.push_back({.name = name,
                             .owner = "u:1",
                             .serial = "s",
                             .token = 7 + granted.holds.size(),
                             .who = {},
                             .mode = Mode::slots,
                             .slot = 2});
  }
  const std::string text = said_of_three(true, [&](Voice& voice) { voice.on_notice(granted); });
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

TEST_CASE("the end of the time, and a run that is not wanted again") {
  const std::string text = said_of_three(false, [&](Voice& voice) {
    voice.on_notice({.kind = Notice::Kind::time_up, .span = 10s});
    voice.on_notice({.kind = Notice::Kind::time_up});
    voice.on_notice({.kind = Notice::Kind::done_before, .text = "1h", .span = 12min});
  });
  CHECK(has(text, "\"d\": --max-hold 10s is over; stopping the command\n"));
  CHECK(has(text,
            "\"d\": the lease is over and is not renewed (--no-renew); stopping the command\n"));
  CHECK(has(text, "\"d\": a run that began 12m ago succeeded (--once-per 1h)\n"));
}

}  // namespace dlock
