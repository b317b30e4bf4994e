// SPDX-License-Identifier: MIT
// SessionPeerLock: what the peer locks of all SQL servers have in common. Each has a session of its
// own (MySession or PgSession), which holds the lock.
#pragma once

#include "store/sql/peer_lock.hpp"
#include "store/sql/statement.hpp"
#include "store/url/with_option.hpp"

#include <memory>
#include <string>
#include <utility>

namespace dlock {

template <typename Session>
class SessionPeerLock : public PeerLock {
 public:
  Result<void> check(Time limit) final {
    auto alive = session_.ask_alive(limit);
    if (alive || session_.connected()) return alive;
    return Error{Errc::lost, alive.error().text};
  }

  // Releases the locks. If the session still waits for an answer, closes its connection: that
  // answer could come late and be taken for the answer to the release.
  void give_up(Time limit) final {
    if (session_.owes_sign()) return session_.disconnect();
    if (session_.connected() && !session_.run({end()}, limit)) session_.disconnect();
  }

 protected:
  template <typename... Arguments>
  explicit SessionPeerLock(const WithOption& with, Arguments&&... of_session)
      : with_(with), session_(std::forward<Arguments>(of_session)...) {}

  const WithOption& with() const { return with_; }
  bool is_row() const { return with_.kind == WithOption::Kind::row; }
  Session& session() { return session_; }

  // Returns the error of a run() that was to take the lock. If a table or column does not exist,
  // the code is Errc::bad_config, because the URL names both.
  Error refused(const Error& error, sql::Cause cause) const {
    const bool undefined = cause == sql::Cause::no_table || cause == sql::Cause::no_column;
    return {undefined ? Errc::bad_config : error.code, error.text};
  }

 private:
  virtual sql::Statement end() const = 0;  // returns the statement that releases the lock

  WithOption with_;
  Session session_;
};

}  // namespace dlock
