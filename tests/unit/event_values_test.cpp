// SPDX-License-Identifier: MIT
// The values in the events of --log-format json, and their keys.
#include "base/log.hpp"
#include "cmd/voice.hpp"
#include "sys/forked.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "support/has.hpp"
#include "unit/held.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;
using test::held;

namespace {

LockName lock_called(const std::string& text) {
  return *LockName::parse(text);
}

// Returns the events that a run of these names writes for the notices.
std::string events_said(const std::vector<LockName>& names, const std::vector<Notice>& notices) {
  return test::forked([&] {
    std::array<int, 2> ends{};
    DLOCK_ASSERT(::pipe2(ends.data(), O_CLOEXEC) == 0);
    ::dup2(ends[1], STDERR_FILENO);
    set_up_log({.level = LogLevel::debug, .json = true});
    Voice voice(names, Mode::plain);
    for (const Notice& notice : notices)
      voice.on_notice(notice);
    std::array<char, 65536> buffer{};
    const ssize_t n = ::read(ends[0], buffer.data(), buffer.size());
    return std::string(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  });
}

}  // namespace

TEST_CASE("event: an outage has the length of the wait, of the outage, and of the retries") {
  const Notice away{.kind = Notice::Kind::store_away, .span = 70s, .seen_ago = 8s, .left = 22s};
  CHECK(has(events_said({lock_called("n")}, {away}),
            R"("waited_ms":70000,"away_ms":8000,"left_ms":22000)"));
}

TEST_CASE("event: a wait says its own length, the place, and how many wait") {
  Notice wait{
      .kind = Notice::Kind::waiting, .holding = held(), .place = 3, .span = 5s, .seen_ago = 500ms};
  wait.holding->waiting = 7;
  const std::string said = events_said({lock_called("n")}, {wait});
  CHECK(has(said, R"("waited_ms":5000,"holder":{"host":"ci-4","pid":812,)"));
  CHECK(has(said, R"("age_ms":130500,"lease_left_ms":20500,)"));
  CHECK(has(said, R"("place":3,"waiting":7)"));
}

TEST_CASE("event: a grant says the wait, hold, tokens, mode, slot and the end of the lease") {
  const Holds holds{{.name = lock_called("a b"),
                     .owner = "u:1",
                     .serial = "s",
                     .token = 7,
                     .mode = Mode::slots,
                     .slot = 2},
                    {.name = lock_called("c"), .owner = "v:1", .serial = "s", .token = 9}};
  const std::string said = events_said(
      {lock_called("a b"), lock_called("c")},
      {{.kind = Notice::Kind::granted, .span = 1500ms, .holds = holds, .safe_until = Time(29690ms)},
       {.kind = Notice::Kind::released}});
  const std::string who = R"("lock":"a%20b c","hold":"u:1#s","token":7,"tokens":"7 9")";
  CHECK(has(said,
            who + R"(,"safe_until_ns":29690000000,"waited_ms":1500,)"
                  R"("mode":"slots","slot":2)"));
  CHECK(has(said, "\"event\":\"released\""));
  CHECK(said.find(who, said.find(who) + 1) != std::string::npos);  // from then on in each event
}

TEST_CASE("event: what dlock wait says, and the signals and endings of a command") {
  const std::string said =
      events_said({lock_called("n")},
                  {{.kind = Notice::Kind::free, .span = 2500ms},
                   {.kind = Notice::Kind::release_unknown, .span = 3s},
                   {.kind = Notice::Kind::ended, .child = {ChildStatus::Kind::signalled, 15}},
                   {.kind = Notice::Kind::ended, .child = {ChildStatus::Kind::exited, 3}},
                   {.kind = Notice::Kind::ended, .child = {ChildStatus::Kind::not_started, 2}}});
  for (const char* const value : {R"("waited_ms":2500)",
                                  R"("left_ns":3000000000)",
                                  R"("signal":15)",
                                  R"("code":3)",
                                  R"("errno":2)"})
    CHECK(has(said, value));
}

}  // namespace dlock
