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
  holding.last =
      LastRun{.who = {.host = "h4", .pid = 6, .user = "x", .command = "e", .reason = "p"},
              .token = 4,
              .since_ms = 100,
              .ended_ms = 450,
              .outcome = "child",
              .exit_status = 3,
              .waited = 20ms,
              .later_is_silent = true};
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
      },
      "last": {
        "host": "h4",
        "pid": 6,
        "user": "x",
        "command": "e",
        "reason": "p",
        "token": 4,
        "since_ms": 100,
        "ended_ms": 450,
        "held_ms": 350,
        "waited_ms": 20,
        "outcome": "child",
        "exit_status": 3,
        "signal": null,
        "later_is_silent": true
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
      "frozen": null,
      "last": null
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
      "frozen": null,
      "last": null
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
      "frozen": null,
      "last": null
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

}  // namespace dlock
