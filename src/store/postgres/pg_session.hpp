// SPDX-License-Identifier: MIT
// PgSession: sends statements to one PostgreSQL server and returns the answers. It connects when
// necessary, to the first server in the URL that can be reached and may write.
//
// It promises that a call ends at its limit, which includes name lookup and connecting, and that
// libpq never blocks. All statements of a run() are sent in one write. No statement is a named
// prepared statement, so that a pooler which gives out connections for one transaction at a time
// can stand between dlock and the server. If a call fails on the connection, reaches its limit or
// is interrupted, the connection is dropped: a late answer is never taken for the answer to the
// next request, and unsent bytes are never sent. Statements are never sent twice: the caller has to
// find out whether a failed run() was executed. But an idle connection that has ended is replaced
// before statements are sent.
//
// Errors about the connection are those of Transport. Errors from the server are denied (login,
// rights), unavailable (not now) and refused (others), as in pg_error.hpp. Errc::protocol: the
// server is not PostgreSQL, its certificate is not accepted, or its answer cannot be used. Each
// text names the server and has no password. One thread at a time.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/other_server.hpp"
#include "store/postgres/pg_connect.hpp"
#include "store/postgres/pg_error.hpp"
#include "store/postgres/pg_url.hpp"
#include "store/sql/statement.hpp"
#include "sys/interrupt.hpp"
#include "sys/tls_settings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

// Describes the error of the newest run(), if it failed.
struct PgFailure {
  std::string sqlstate = {};  // empty: the error does not come from a server
  sql::Cause cause = sql::Cause::other;
};

class PgCall;

class PgSession {
 public:
  // `interrupt` ends calls; it may be null, and must live longer than this session.
  PgSession(PgAddress address, TlsSettings tls, const Interrupt* interrupt);

  // Returns an answer for each statement. Texts must not have NUL bytes. Without the statements
  // "begin" and "commit", all statements are one transaction, and an error rolls back all of them.
  // If a run() leaves a transaction open, the next run() continues it; if the connection is gone by
  // then, that run() does nothing and returns Errc::unavailable. After an error from the server no
  // transaction is open, and the connection is kept.
  Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements, Time limit);
  const PgFailure& failure() const { return failure_; }

  // Asks the server for a sign of life on the existing connection, and tests whether an open
  // transaction is still open. If this fails and connected() is still true, the answer may still
  // come, and the next call of ask_alive() waits for it. A run() drops a connection on which this
  // answer has not come.
  Result<void> ask_alive(Time limit);
  bool owes_sign() const { return owes_sign_; }

  // Returns a time before the first byte of the newest run() was sent.
  Time sent_at() const { return sent_at_; }

  // Waits for a notification. Returns false if none has come until `until`. The caller has
  // subscribed before, by a run() of "listen …". Errc::unavailable: there is no connection, or it
  // has ended; then the subscriptions have ended, too. After Errc::cancelled the connection is
  // kept.
  Result<bool> await_notification(Time until);
  // Returns the channels of the notifications that have come so far, oldest first, and forgets
  // them. These include notifications that came during a run().
  std::vector<std::string> take_notifications();

  // Returns the number of the server process at the login; 0: no connection. The subscriptions are
  // lost if this number has changed. They are also lost if pg_backend_pid() returns another number,
  // because then a pooler has given us another server process.
  int backend_pid() const;
  bool connected() const { return connection_ != nullptr; }
  // The newest run() has left a transaction open.
  bool in_transaction() const { return in_transaction_; }
  void disconnect();  // the server rolls back an open transaction

  const std::string& where() const { return address_.text; }

 private:
  using Answers = Result<std::vector<sql::Answer>>;
  Result<void> reach(Time limit);
  bool alive();
  Result<void> connect(Time limit);
  PgNoConnection connect_to(const PgServer& server, Time limit);
  Answers receive(PgCall& call, std::size_t statements, int ends, Time started, Time limit);
  Result<void> await_answer(PgCall& call, Time started, Time limit);
  Error lost(const Error& reason, Time started, Time limit);
  void explain(PgNoConnection& why, const PgServer& server, Time limit);
  Error unreachable(const PgNoConnection& why, const std::string& failed);
  Error refusal(const std::string& state, const std::string& text);
  void collect_notifications();

  PgAddress address_;
  TlsSettings tls_;
  const Interrupt* interrupt_;
  PgConnection connection_;
  Intake intake_;  // counts the bytes received on the connection
  PgFailure failure_;
  Time sent_at_{};
  std::vector<std::string> notifications_;
  bool in_transaction_ = false;  // the newest run() has left a transaction open
  bool owes_sign_ = false;       // ask_alive() still waits for the server's answer
  bool has_answered_ = false;    // a connection has been made at least once
  // Connections that a server closed before any login had succeeded.
  HangUps hang_ups_;
};

// Returns the milliseconds left until the limit, for "set local statement_timeout = …": at least 1,
// because 0 means no limit. The server counts this time anew for each statement of a run().
long long statement_timeout_ms(Time limit, Time now);

}  // namespace dlock
