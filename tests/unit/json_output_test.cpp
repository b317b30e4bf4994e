// SPDX-License-Identifier: MIT
// The schema of --json, version 1: programs read it, so it only ever grows.
#include "cmd/json_output.hpp"

#include <doctest/doctest.h>

namespace dlock {

using namespace std::chrono_literals;

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
                   .since_ms = 2000}};
  CHECK(holdings_json({named}) == R"({
  "schema": 1,
  "locks": [
    {
      "name": "order-42",
      "key": "dlock:order-42",
      "state": "held",
      "type": "hash",
      "owners": [
        {
          "id": "u:1",
          "count": "2"
        }
      ],
      "owner_count": 1,
      "lease_left_ms": 21500,
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
          "ttl_ms": 30000
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
          "since_ms": 2000,
          "age_ms": 3000
        }
      ]
    }
  ]
}
)");
}

TEST_CASE("json: what is not known is null, what is not there is an empty list") {
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
      "owners": [],
      "owner_count": 0,
      "lease_left_ms": null,
      "token": null,
      "revoked_by": null,
      "holds": [],
      "waiting": 0,
      "line": []
    }
  ]
}
)");
}

TEST_CASE("json: a free lock has no more than its name and its line") {
  CHECK(holdings_json({{.name = "n", .key = "k", .holding = {}}}) == R"({
  "schema": 1,
  "locks": [
    {
      "name": "n",
      "key": "k",
      "state": "free",
      "waiting": 0,
      "line": []
    }
  ]
}
)");
  CHECK(holdings_json({}) == "{\n  \"schema\": 1,\n  \"locks\": []\n}\n");
}

TEST_CASE("json: who waits, in order") {
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
          "since_ms": 1000,
          "age_ms": 4000
        },
        {
          "host": "i",
          "pid": 0,
          "user": "",
          "command": "",
          "reason": "",
          "since_ms": 6000,
          "age_ms": 0
        }
      ]
    }
  ]
}
)");
}

TEST_CASE("json: bytes that are not UTF-8 do not break it, and control characters are escaped") {
  const std::string text = holdings_json({{.name = "a\xff\x1b\n", .key = "k", .holding = {}}});
  CHECK(text.find("\\u001b") != std::string::npos);
  CHECK(text.find("\\n\"") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\xff') == std::string::npos);
}

TEST_CASE("json: the largest token that is kept stays exact") {
  NamedHolding named{.name = "n", .key = "k", .holding = {}};
  named.holding.kind = Holding::Kind::lock;
  named.holding.holds = {{.id = "i", .who = {}, .token = 9007199254740991U}};
  CHECK(holdings_json({named}).find("\"token\": 9007199254740991") != std::string::npos);
}

}  // namespace dlock
