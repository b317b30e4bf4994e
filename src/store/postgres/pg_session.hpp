// SPDX-License-Identifier: MIT
// PgSession: statements to one PostgreSQL and their answers. It connects when necessary: to the
// first server of the address that can be reached and may write.
//
// It promises: a call ends at its limit, name lookup and connect included, and libpq never waits.
// All statements of a run() travel in one write, and no server-side statement is named, so that a
// pooler of transactions may stand between. After a call that failed on the way (also by a limit
// or an interrupt) the connection is dropped, so a late answer never meets the next question;
// unsent bytes are never sent. It does not resend: the caller has to find out whether a failed run
// took place; only an idle connection that has ended is replaced before the write.
//
// Errors: as of Transport if there is no connection; denied (login, right), unavailable (not
// now), refused (the rest) as in pg_error.hpp; protocol. Every text names the server and never
// a password. One thread at a time.
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

  // The answers, one for each statement; texts have no NUL bytes. Without "begin" and "commit" the
  // statements are one transaction: an error undoes all of them. The next run continues a
  // transaction that a run leaves open; if the connection is gone by then, that run is
  // Errc::unavailable and did nothing. After an error answer nothing is left open, and the
  // connection stays.
  Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements, Time limit);
  const PgFailure& failure() const { return failure_; }

  // Asks whether the connection still answers, with its open transaction. The connection is not
  // replaced, and the next call takes a late answer: after an error the connection is gone unless
  // it is still connected(). A run() drops a connection that owes such an answer.
  Result<void> ask_alive(Time limit);
  bool owes_sign() const { return owes_sign_; }

  // Read before the first byte of the newest run() was sent.
  Time sent_at() const { return sent_at_; }

  // True: a notification is there. False: `until` has passed. run() says what to listen to ("listen
  // …"); that ends with the connection: Errc::unavailable, also without a connection. After
  // Errc::cancelled the connection stays.
  Result<bool> await_notification(Time until);
  // Removes and returns the channels of the notifications so far, oldest first, including those
  // that run() received.
  std::vector<std::string> take_notifications();

  // The process that serves us; 0: no connection. A process other than before, or than
  // pg_backend_pid(), does not listen for us.
  int backend_pid() const;
  bool connected() const { return connection_ != nullptr; }
  bool in_transaction() const { return in_transaction_; }  // after the newest run()
  void disconnect();                                       // the server undoes an open transaction

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
  Intake intake_;  // the connection's
  PgFailure failure_;
  Time sent_at_{};
  std::vector<std::string> notifications_;
  bool in_transaction_ = false;  // the newest run left a transaction open
  bool owes_sign_ = false;       // ask_alive() still waits for its answer
  bool has_answered_ = false;    // a connection was made once
  HangUps hang_ups_;             // before that
};

// The time left until the limit, for "set local statement_timeout = …": at least 1, as 0 means no
// limit. It bounds each statement from its arrival on, not the whole run.
long long statement_timeout_ms(Time limit, Time now);

}  // namespace dlock
