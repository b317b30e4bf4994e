// SPDX-License-Identifier: MIT
// SessionPeerLock: what the peer locks of all servers of SQL have in common. The lock belongs to
// their session, a MySession or a PgSession.
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

  // A session that owes an answer is closed: the answer may be late, and would be taken for ours.
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

  // The error of a run() that takes the lock: a table that the URL names may be missing.
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
