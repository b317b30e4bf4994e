// SPDX-License-Identifier: MIT
// PgSession: sends statements to one PostgreSQL server and returns the answers. It connects when
// necessary: to the first server of the address that can be reached and may write.
//
// It promises: a call ends at its limit, which covers name lookup and connect, and libpq never
// blocks. All statements of a run() are sent in one write, and none is a named prepared statement,
// so that a pooler can stand between that hands out connections per transaction. If the connection
// fails, or a call ends by its limit or an interrupt, the connection is dropped: a late answer is
// never read as the answer to the next request, and unsent bytes are never sent. It never resends:
// the caller has to find out whether a failed run was executed. Only an idle connection that has
// ended is replaced, before the write.
//
// Errors: as of Transport if there is no connection; denied (login, rights), unavailable (not now),
// refused (other errors) as in pg_error.hpp; protocol. Each text names the server and never a
// password. One thread at a time.
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

// Describes the newest run() that failed.
struct PgFailure {
  std::string sqlstate = {};  // empty: no server answered with an error
  sql::Cause cause = sql::Cause::other;
};

class PgCall;

class PgSession {
 public:
  // `interrupt` may be null and must outlive us.
  PgSession(PgAddress address, TlsSettings tls, const Interrupt* interrupt);

  // Returns an answer for each statement; texts must not have NUL bytes. Without "begin" and
  // "commit" the statements are one transaction: an error rolls back all of them. If a run leaves a
  // transaction open, the next run continues it; if the connection is gone by then, that run does
  // nothing and returns Errc::unavailable. After an error from the server no transaction is open,
  // and the connection stays.
  Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements, Time limit);
  const PgFailure& failure() const { return failure_; }

  // Asks the server for a sign of life on the existing connection, and checks that an open
  // transaction is still open. If this fails and connected() is still true, the answer may still
  // come: the next call waits for it. A run() drops a connection that owes an answer.
  Result<void> ask_alive(Time limit);
  bool owes_sign() const { return owes_sign_; }

  // Returns a time before the first byte of the newest run() was sent.
  Time sent_at() const { return sent_at_; }

  // Waits for a notification. Returns false if none came until `until`. The caller subscribes with
  // run() ("listen …"). Errc::unavailable: there is no connection, or it has ended, and the
  // subscriptions with it. After Errc::cancelled the connection stays.
  Result<bool> await_notification(Time until);
  // Removes and returns the channels of the notifications received so far, oldest first. Those that
  // came during a run() are included.
  std::vector<std::string> take_notifications();

  // Returns the number of the server process at the login; 0: no connection. Subscriptions are lost
  // if it has changed, or differs from pg_backend_pid() (a pooler).
  int backend_pid() const;
  bool connected() const { return connection_ != nullptr; }
  bool in_transaction() const { return in_transaction_; }  // after the newest run()
  void disconnect();  // the server rolls back an open transaction

  const std::string& where() const { return address_.text; }

 private:
  using Answers = Result<std::vector<sql::Answer>>;
  Result<void> reach(Time limit);
  bool alive();
  Result<void> connect(Time limit);
  PgNoConnection connect_to(const PgServer& server, Time limit);
  Result<void> send(const std::vector<sql::Statement>& statements);
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
  Intake intake_;  // the intake of the connection
  PgFailure failure_;
  Time sent_at_{};
  std::vector<std::string> notifications_;
  bool in_transaction_ = false;  // the newest run left a transaction open
  bool owes_sign_ = false;       // ask_alive() still waits for its answer
  bool has_answered_ = false;    // a connection was made at least once
  HangUps hang_ups_;             // hang-ups before the first connection
};

// Returns the time left, for "set local statement_timeout = …"; at least 1, as 0 means no limit.
// The timeout bounds each statement from its arrival on, not the whole run.
long long statement_timeout_ms(Time limit, Time now);

}  // namespace dlock
