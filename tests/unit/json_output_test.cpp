// SPDX-License-Identifier: MIT
// The schema of --json, version 1. Programs read it, so fields are only added.
#include "cmd/json_output.hpp"

#include <doctest/doctest.h>

#include "support/has.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;

TEST_CASE("json: a held lock, every field") {
  NamedHolding named{.name = "order-42", .key = "dlock:order-42", .holding = {}};
  Holding& holding = named.holding;
  holding.kind = Holding::Kind::lock;
  holding.type = "hash";
  holding.owners = {{"u:1", "2"}};
  holding.owner_count = 1;
  holding.lease_left = 21500ms;
  holding.now_ms = 5000;
  holding.revoked_by = "ann@desk";
  HoldRecord record{.id = "u:1#s", .who = {}, .token = 5, .since_ms = 1000, .ttl = 30s};
  record.who = {.host = "h", .pid = 8, .user = "u", .command = "c", .reason = "r"};
  holding.holds = {record};
  holding.waiting = 1;
  holding.line = {{.who = {.host = "h2", .pid = 9, .user = "v", .command = "d", .reason = "s"},
                   .since_ms = 2000,
                   .mode = Mode::slots,
                   .slots = 3}};
  holding.success = LastSuccess{.since_ms = 500, .ago = 4500ms, .left = 2000ms};
  holding.frozen = Freeze{.who = {.host = "h3", .pid = 7, .user = "w", .reason = "q"},
                          .since_ms = 3000,
                          .left = 9000ms};
  CHECK(holdings_json({named}) == R"({
  "schema": 1,
  "locks": [
    {
      "name": "order-42",
      "key": "dlock:order-42",
      "state": "held",
      "type": "hash",
      "mode": "plain",
      "slots": null,
      "owners": [
        {
          "id": "u:1",
          "count": "2",
          "lease_left_ms": null
        }
      ],
      "owner_count": 1,
      "lease_left_ms": 21500,
      "lease_left": "exact",
      "token": 5,
      "revoked_by": "ann@desk",
      "holds": [
        {
          "id": "u:1#s",
          "host": "h",
          "pid": 8,
          "user": "u",
          "command": "c",
          "reason": "r",
          "since_ms": 1000,
          "age_ms": 4000,
          "token": 5,
          "ttl_ms": 30000,
          "mode": "plain",
          "slot": null,
          "kept": false
        }
      ],
      "waiting": 1,
      "line": [
        {
          "host": "h2",
          "pid": 9,
          "user": "v",
          "command": "d",
          "reason": "s",
          "mode": "slots",
          "slots": 3,
          "since_ms": 2000,
          "age_ms": 3000
        }
      ],
      "success": {
        "since_ms": 500,
        "age_ms": 4500,
        "left_ms": 2000
      },
      "frozen": {
        "host": "h3",
        "pid": 7,
        "user": "w",
        "reason": "q",
        "since_ms": 3000,
        "left_ms": 9000
      }
    }
  ]
}
)");
}

TEST_CASE("json: an unknown value is null, a missing one is an empty list") {
  NamedHolding named{.name = "n", .key = "k", .holding = {}};
  named.holding.kind = Holding::Kind::foreign;
  named.holding.type = "string";
  CHECK(holdings_json({named}) == R"({
  "schema": 1,
  "locks": [
    {
      "name": "n",
      "key": "k",
      "state": "foreign",
      "type": "string",
      "mode": null,
      "slots": null,
      "owners": [],
      "owner_count": 0,
      "lease_left_ms": null,
      "lease_left": "unknown",
      "token": null,
      "revoked_by": null,
      "holds": [],
      "waiting": 0,
      "line": [],
      "success": null,
      "frozen": null
    }
  ]
}
)");
}

TEST_CASE("json: a free lock has only its name and its line") {
  CHECK(holdings_json({{.name = "n", .key = "k", .holding = {}}}) == R"({
  "schema": 1,
  "locks": [
    {
      "name": "n",
      "key": "k",
      "state": "free",
      "waiting": 0,
      "line": [],
      "success": null,
      "frozen": null
    }
  ]
}
)");
  CHECK(holdings_json({}) == "{\n  \"schema\": 1,\n  \"locks\": []\n}\n");
}

TEST_CASE("json: the waiters, in order") {
  NamedHolding named{.name = "n", .key = "k", .holding = {}};
  named.holding.now_ms = 5000;
  named.holding.waiting = 9;
  named.holding.line = {{.who = {.host = "h", .pid = 8, .user = "u", .command = "c", .reason = "r"},
                         .since_ms = 1000},
                        {.who = {.host = "i"}, .since_ms = 6000}};
  CHECK(holdings_json({named}) == R"({
  "schema": 1,
  "locks": [
    {
      "name": "n",
      "key": "k",
      "state": "free",
      "waiting": 9,
      "line": [
        {
          "host": "h",
          "pid": 8,
          "user": "u",
          "command": "c",
          "reason": "r",
          "mode": "plain",
          "slots": null,
          "since_ms": 1000,
          "age_ms": 4000
        },
        {
          "host": "i",
          "pid": null,
          "user": "",
          "command": "",
          "reason": "",
          "mode": "plain",
          "slots": null,
          "since_ms": 6000,
          "age_ms": 0
        }
      ],
      "success": null,
      "frozen": null
    }
  ]
}
)");
}

TEST_CASE("json: bytes that are not UTF-8 are replaced, and control characters are escaped") {
  const std::string text = holdings_json({{.name = "a\xff\x1b\n", .key = "k", .holding = {}}});
  CHECK(text.find("\\u001b") != std::string::npos);
  CHECK(text.find("\\n\"") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\xff') == std::string::npos);
}

TEST_CASE("json: a terminal obeys nothing of it, and a program reads the same text") {
  NamedHolding named{.name = "größe", .key = "k", .holding = {}};
  named.holding.kind = Holding::Kind::lock;
  named.holding.holds = {{.id = "u:1#\x7f", .who = {.command = "a\u009bb", .reason = "\u202ec"}}};
  const std::string json = holdings_json({named});
  CHECK(has(json, R"("u:1#\u007f")"));
  CHECK(has(json, R"("a\u009bb")"));
  CHECK(has(json, R"("\u202ec")"));
  CHECK(has(json, "größe"));
}

TEST_CASE("json: the largest token that is kept stays exact") {
  NamedHolding named{.name = "n", .key = "k", .holding = {}};
  named.holding.kind = Holding::Kind::lock;
  named.holding.holds = {{.id = "i", .who = {}, .token = 9007199254740991U}};
  CHECK(holdings_json({named}).find("\"token\": 9007199254740991") != std::string::npos);
}

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

TEST_CASE("json: of a waiter of another program, and of four columns, null is what is not known") {
  NamedHolding named{.name = "n", .key = "k", .holding = {}};
  named.holding.kind = Holding::Kind::lock;
  named.holding.now_ms = 5000;
  named.holding.line = {{.who = {.command = "etcd key n/1"}}};
  HoldRecord record{.id = "u:1#s", .who = {.host = "h", .pid = 8}, .token = 5, .since_ms = 1000};
  named.holding.holds = {record};
  const std::string text = holdings_json({named});
  CHECK(has(text, "\"since_ms\": null,\n          \"age_ms\": null"));
  CHECK(has(text, "\"pid\": null"));
  CHECK(has(text, "\"since_ms\": 1000,\n          \"age_ms\": 4000"));
  CHECK(has(text, "\"ttl_ms\": null"));
}

TEST_CASE("json: a lease that never ends is something else than one of which nothing is known") {
  NamedHolding named{.name = "n", .key = "k", .holding = {}};
  named.holding.kind = Holding::Kind::foreign;
  for (const auto& [left, said] : std::vector<std::pair<LeaseLeft, std::string>>{
           {LeaseLeft::never(), "null,\n      \"lease_left\": \"never\""},
           {LeaseLeft(), "null,\n      \"lease_left\": \"unknown\""},
           {LeaseLeft::at_most(30s), "30000,\n      \"lease_left\": \"at_most\""},
           {LeaseLeft(0s), "0,\n      \"lease_left\": \"exact\""}}) {
    named.holding.lease_left = left;
    CHECK(has(holdings_json({named}), "\"lease_left_ms\": " + said));
  }
}

TEST_CASE("json: the mode of each holder") {
  NamedHolding named{.name = "n", .key = "k", .holding = {}};
  Holding& holding = named.holding;
  holding.kind = Holding::Kind::lock;
  holding.mode = Mode::slots;
  holding.slots = 3;
  holding.owners = {{"u:1", "1", 1500ms}};
  HoldRecord record{.id = "u:1#kept", .who = {}, .mode = Mode::slots, .slot = 2, .kept = true};
  holding.holds = {record};
  const std::string text = holdings_json({named});
  CHECK(has(text, "\"mode\": \"slots\",\n      \"slots\": 3,"));
  CHECK(has(text, "\"lease_left_ms\": 1500"));
  CHECK(has(text, "\"mode\": \"slots\",\n          \"slot\": 2,\n          \"kept\": true"));
}

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

TEST_CASE("json: what each server of a quorum says") {
  NamedHolding named{.name = "n", .key = "k", .holding = {}};
  Holding word{.kind = Holding::Kind::lock, .owners = {{.id = "u:1", .count = "1"}}};
  word.lease_left = 21s;
  named.holding.votes = {{.server = "redis://a", .trouble = {}, .holding = word},
                         {.server = "redis://b", .trouble = "no answer"}};
  CHECK(has(holdings_json({named}), R"("servers": [
        {
          "url": "redis://a",
          "state": "held",
          "owners": [
            "u:1"
          ],
          "lease_left_ms": 21000,
          "lease_left": "exact"
        },
        {
          "url": "redis://b",
          "state": "unknown",
          "error": "no answer"
        }
      ])"));
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

TEST_CASE("json: the holds that acquire got") {
  CHECK(acquired_json(two_slots(), 1700000000123ms, "x y") ==
        R"({"version":1,"locks":[)"
        R"({"name":"a b","owner":"u:1","hold":"u:1#s1","token":7,"mode":"slots","slot":2},)"
        R"({"name":"c","owner":"u:1","hold":"u:1#s1","token":9,"mode":"slots","slot":0}],)"
        R"("ttl_ms":30000,"expires":1700000000.123,"holds":"x y"})"
        "\n");
}

}  // namespace dlock
