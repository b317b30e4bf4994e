// SPDX-License-Identifier: MIT
// Which events --notify-on knows, and which notice or end of a run is which of them.
#include "cmd/notify_events.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "support/has.hpp"

namespace dlock {

using test::has;

namespace {

// Returns the words of the list, joined again, or the error.
std::string parsed(std::string_view list) {
  const auto events = parse_notify_events(list);
  if (!events) return events.error().text;
  std::string words;
  for (const NotifyEvent event : *events)
    words += std::string(words.empty() ? "" : ",") + std::string(notify_word(event));
  return words;
}

std::string word_of(const Outcome& outcome) {
  const auto event = notify_event(outcome);
  return event ? std::string(notify_word(*event)) : "";
}

std::string word_of(Notice::Kind kind) {
  const auto event = notify_event(Notice{.kind = kind});
  return event ? std::string(notify_word(*event)) : "";
}

Outcome child(ChildStatus::Kind kind, int value) {
  return {.kind = Outcome::Kind::child, .child = {kind, value}};
}

Outcome failed(Errc code) {
  return {.kind = Outcome::Kind::failed, .error = {code, "why"}};
}

}  // namespace

TEST_CASE("notify: a list has words that are separated by commas") {
  const std::string all = "granted,busy,done,lost,time_up,failed,unavailable,unlocked";
  CHECK(parsed(all) == all);
  CHECK(parsed("lost") == "lost");
  CHECK(has(parsed("lots"), "there is no event \"lots\"; did you mean lost?"));
  CHECK(has(parsed("time-up"), "did you mean time_up?"));
  CHECK(has(parsed("lost, busy"), "there is no event"));
  CHECK(has(parsed(""), "at least one event"));
}

TEST_CASE("notify: the end of a run is an event if no notice was") {
  using Kind = Outcome::Kind;
  CHECK(word_of({.kind = Kind::busy}) == "busy");
  CHECK(word_of(child(ChildStatus::Kind::exited, 3)) == "");
  CHECK(word_of(child(ChildStatus::Kind::not_started, ENOENT)) == "failed");
  CHECK(word_of(failed(Errc::unavailable)) == "unavailable");
  CHECK(word_of(failed(Errc::timed_out)) == "unavailable");
  CHECK(word_of(failed(Errc::denied)) == "failed");
  CHECK(word_of({.kind = Kind::lost}) == "");
  CHECK(word_of({.kind = Kind::signalled}) == "");
  // Their notices are the events.
  CHECK(word_of({.kind = Kind::unavailable, .error = {Errc::timed_out, "why"}}) == "");
  CHECK(word_of({.kind = Kind::unlocked}) == "");
}

TEST_CASE("notify: each way to lose the lease is one event") {
  using Kind = Notice::Kind;
  for (const Kind kind : {Kind::lost, Kind::revoked, Kind::lapsing, Kind::lost_at_release})
    CHECK(word_of(kind) == "lost");
  CHECK(word_of(Kind::done_before) == "done");
  CHECK(word_of(Kind::time_up) == "time_up");
  CHECK(word_of(Kind::unavailable) == "unavailable");
  CHECK(word_of(Kind::unlocked) == "unlocked");
  CHECK(word_of(Kind::granted) == "granted");
  CHECK(word_of(Kind::killed) == "");
}

}  // namespace dlock
