// SPDX-License-Identifier: MIT
// The result file of a run, and the JSON of acquire. Programs read both, so fields are only added.
#include "cmd/json_output.hpp"

#include <doctest/doctest.h>

#include "support/has.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;

namespace {

LockName lock_name(const std::string& text) {
  return *LockName::parse(text);
}

Holds two_slots() {
  return {{.name = lock_name("a b"),
           .owner = "u:1",
           .serial = "s1",
           .token = 7,
           .ttl = 30s,
           .who = {},
           .mode = Mode::slots,
           .slot = 2},
          {.name = lock_name("c"),
           .owner = "u:1",
           .serial = "s1",
           .token = 9,
           .ttl = 30s,
           .who = {},
           .mode = Mode::slots,
           .slot = 0}};
}

}  // namespace

TEST_CASE("json: the result of a run of several names") {
  Outcome outcome{.kind = Outcome::Kind::child, .child = {ChildStatus::Kind::exited, 3}};
  outcome.summary = {
      .holds = two_slots(), .waited = 5ms, .held = 6ms, .released = RunSummary::Released::yes};
  CHECK(result_json({lock_name("a b"), lock_name("c")}, outcome, "", 3) ==
        R"({"version":1,"outcome":"child","lock":"a%20b c","exit_status":3,)"
        R"("hold":"u:1#s1","token":7,"locks":[)"
        R"({"name":"a b","hold":"u:1#s1","token":7,"mode":"slots","slot":2},)"
        R"({"name":"c","hold":"u:1#s1","token":9,"mode":"slots","slot":0}],)"
        R"("waited_ms":5,"held_ms":6,"exit_code":3,"lost":false,"released":"yes"})"
        "\n");
}

TEST_CASE("json: the result of a run that did not run, and of one whose time was up") {
  const std::string done = result_json({lock_name("n")}, {.kind = Outcome::Kind::done}, "", 0);
  CHECK(has(done, R"("outcome":"done","lock":"n","exit_status":0,"hold":null,"token":null,)"));
  CHECK(has(done, R"("locks":[])"));
  CHECK(has(done, R"("lost":false,"released":null)"));
  Outcome over{.kind = Outcome::Kind::time_up, .child = {ChildStatus::Kind::signalled, 15}};
  over.summary.holds = {two_slots().back()};
  over.summary.holds.front().mode = Mode::plain;
  over.summary.holds.front().slot.reset();
  const std::string text = result_json({lock_name("c")}, over, "", 124);
  CHECK(has(text, R"("outcome":"time_up","lock":"c","exit_status":124,"hold":"u:1#s1","token":9)"));
  CHECK(has(text, R"("mode":"plain","slot":null)"));
  CHECK(has(text, R"("signal":15)"));
}

TEST_CASE("json: the result says whether the lock was lost, and what is known of its release") {
  Outcome lost{.kind = Outcome::Kind::lost, .child = {ChildStatus::Kind::signalled, 9}};
  for (const auto& [released, said] : std::vector<std::pair<RunSummary::Released, std::string>>{
           {RunSummary::Released::nothing, "null"},
           {RunSummary::Released::yes, "\"yes\""},
           {RunSummary::Released::no, "\"no\""},
           {RunSummary::Released::unknown, "\"unknown\""}}) {
    lost.summary.lost = true;
    lost.summary.released = released;
    CHECK(has(result_json({lock_name("n")}, lost, "", 79),
              R"("signal":9,"lost":true,"released":)" + said + "}"));
  }
}

TEST_CASE("json: the holds that acquire got") {
  CHECK(acquired_json(two_slots(), 1700000000123ms, "x y") ==
        R"({"version":1,"locks":[)"
        R"({"name":"a b","owner":"u:1","hold":"u:1#s1","token":7,"mode":"slots","slot":2},)"
        R"({"name":"c","owner":"u:1","hold":"u:1#s1","token":9,"mode":"slots","slot":0}],)"
        R"("ttl_ms":30000,"expires":1700000000.123,"holds":"x y"})"
        "\n");
}

TEST_CASE("json: the result of a run that failed has the exit status as its code") {
  const Outcome failed{.kind = Outcome::Kind::failed};
  const std::string text = result_json({lock_name("n")}, failed, "no answer", 69);
  CHECK(has(text, R"("outcome":"failed","lock":"n","exit_status":69,)"));
  CHECK(has(text, R"("error":"no answer","code":69,)"));
}

TEST_CASE("json: the result of a busy run has the holders as inspect shows them") {
  Outcome busy{.kind = Outcome::Kind::busy, .refusal = Refusal{}};
  busy.refusal->holding.kind = Holding::Kind::lock;
  busy.refusal->holding.now_ms = 5000;
  busy.refusal->holding.holds = {
      {.id = "u:1#s", .who = {.host = "h", .pid = 8, .user = "u", .command = "c"}, .token = 5}};
  busy.refusal->holding.holds.front().since_ms = 1000;
  CHECK(has(result_json({lock_name("n")}, busy, "", 75),
            R"("holders":[{"id":"u:1#s","host":"h","pid":8,"user":"u","command":"c","reason":"",)"
            R"("since_ms":1000,"age_ms":4000,"token":5,)"));
}

}  // namespace dlock
