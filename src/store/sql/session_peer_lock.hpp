// SPDX-License-Identifier: MIT
// SessionPeerLock: the common part of the peer locks of all SQL servers. The session (MySession or
// PgSession) holds the lock.
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

  // Releases the locks. A session that still waits for an answer is closed: its late answer would
  // be mistaken for the answer to the release.
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

  // Returns the error of a run() that was to take the lock. Errc::bad_config if a table or column
  // is missing: the URL names them.
  Error refused(const Error& error, sql::Cause cause) const {
    const bool undefined = cause == sql::Cause::no_table || cause == sql::Cause::no_column;
    return {undefined ? Errc::bad_config : error.code, error.text};
  }

 private:
  virtual sql::Statement end() const = 0;  // the statement that releases the lock

  WithOption with_;
  Session session_;
};

}  // namespace dlock
