// SPDX-License-Identifier: MIT
// Helpers for tests of ZooKeeper sessions: sessions, and runs that must succeed or must fail.
#pragma once

#include "store/zookeeper/zk_session.hpp"

#include <doctest/doctest.h>

#include <poll.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_peer.hpp"
#include "support/zookeeper_process.hpp"

namespace dlock::test {

using ZkRequests = std::vector<ZkRequest>;

inline ZkSession zk_session_of(const std::string& url,
                               Duration timeout = std::chrono::seconds(2),
                               const Interrupt* interrupt = nullptr,
                               ZkIdentity identity = {}) {
  auto address = parse_zk_url(url);
  CAPTURE((address ? "" : address.error().text));
  REQUIRE(address.has_value());
  return {std::move(*address), timeout, interrupt, std::move(identity)};
}

inline std::vector<ZkAnswer> done(Result<ZkAnswers> answers) {
  CAPTURE((answers ? "" : answers.error().text));
  REQUIRE(answers.has_value());
  REQUIRE_FALSE(answers->expired);
  return std::move(answers->answers);
}
inline std::vector<ZkAnswer> done(ZkSession& session, const ZkRequests& requests) {
  return done(session.run(requests, ample()));
}
inline ZkAnswer done(ZkSession& session, const ZkRequest& request) {
  return done(session, ZkRequests{request}).front();
}

// Returns the answer to the request. Sends it again and again, because the server may still have to
// read what the session was sent before.
inline ZkAnswer answered(ZkSession& session, const ZkRequest& request) {
  for (const Time limit = ample(); BootClock::now() < limit; ::poll(nullptr, 0, 10))
    if (auto answers = session.run({request}, limit); answers && !answers->expired)
      return answers->answers.front();
  FAIL("no answer");
  return {};
}

inline Error failed(ZkSession& session, const ZkRequests& requests, Time limit) {
  const auto answers = session.run(requests, limit);
  REQUIRE_FALSE(answers.has_value());
  return answers.error();
}

inline bool expired(Result<ZkAnswers> answers) {
  CAPTURE((answers ? "" : answers.error().text));
  REQUIRE(answers.has_value());
  return answers->expired;
}

inline bool there(ZkSession& session, const std::string& path) {
  const ZkCode code = done(session, {.op = ZkOp::exists, .path = path}).code;
  REQUIRE((code == ZkCode::ok || code == ZkCode::no_node));
  return code == ZkCode::ok;
}

inline void pause(std::chrono::milliseconds time) {
  ::poll(nullptr, 0, static_cast<int>(time.count()));
}

}  // namespace dlock::test
