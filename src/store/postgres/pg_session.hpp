// SPDX-License-Identifier: MIT
// PgSession: statements to one PostgreSQL and their answers. It connects when it has to: to the
// first server of the address that can be reached and may write.
//
// It promises: a call ends at its limit, name lookup and connect included, and libpq never waits.
// All statements of a run() travel in one write, and no server-side statement is named, so that a
// pooler of transactions may stand between. After a call that failed on the way (also by a limit
// or an interrupt) the connection is dropped, so a late answer never meets the next question; what
// it had not sent is never sent. It does not resend: whether a run that failed took place is for
// the caller to find out; only a connection that ended while it was idle is replaced first.
//
// Errors: as of Transport where there is no connection; denied (login, right), unavailable (not
// now), refused (the rest) as pg_error.hpp has it; protocol. Every text names the server and never
// a password. One thread at a time.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/other_server.hpp"
#include "store/postgres/pg_connect.hpp"
#include "store/postgres/pg_error.hpp"
#include "store/postgres/pg_url.hpp"
#include "sys/interrupt.hpp"
#include "sys/tls_settings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

// Text without NUL bytes; nullopt is null.
using PgValue = std::optional<std::string>;

struct PgStatement {
  std::string text;  // one statement with $1, $2 …
  std::vector<PgValue> parameters = {};
};

struct PgRows {
  std::vector<std::vector<PgValue>> rows;  // none, if the statement returns none
  long long affected = 0;                  // of insert, update, delete; selected rows
};

// Of the newest run() that failed.
struct PgFailure {
  std::string sqlstate = {};  // empty: no server answered with an error
  PgCause cause = PgCause::other;
};

class PgCall;

class PgSession {
 public:
  // `interrupt` may be null and must outlive us.
  PgSession(PgAddress address, TlsSettings tls, const Interrupt* interrupt);

  // The answers, one for each statement. Without "begin" and "commit" the statements are one
  // transaction: an error undoes all of them. A transaction that a run leaves open is continued by
  // the next run; where the connection is gone by then, that run is Errc::unavailable and did
  // nothing. After an error answer nothing is left open, and the connection stays.
  Result<std::vector<PgRows>> run(const std::vector<PgStatement>& statements, Time limit);
  const PgFailure& failure() const { return failure_; }

  // Does the connection that there is still answer, with the transaction that is open? It is not
  // replaced, and an answer that is late is taken by the next call: after an error it is gone,
  // unless it is still connected(). A run() drops a connection that owes such an answer.
  Result<void> ask_alive(Time limit);
  bool owes_sign() const { return owes_sign_; }

  // Read before the first byte of the newest run() was sent.
  Time sent_at() const { return sent_at_; }

  // A notification is there; false: `until` has passed, and none is. What is listened to is said by
  // run() ("listen …") and ends with the connection: Errc::unavailable, also if there was none. It
  // stays after Errc::cancelled.
  Result<bool> await_notification(Time until);
  // The channels of all that has come since the last call, oldest first; run() takes them in, too.
  std::vector<std::string> take_notifications();

  // The process that serves us; 0: there is no connection. Another one than before, or than
  // pg_backend_pid(), does not listen for us.
  int backend_pid() const;
  bool connected() const { return connection_ != nullptr; }
  void disconnect();  // a transaction that is open is undone by the server

  const std::string& where() const { return address_.text; }

 private:
  using Answers = Result<std::vector<PgRows>>;
  Result<void> reach(Time limit);
  bool alive();
  Result<void> connect(Time limit);
  PgNoConnection connect_to(const PgServer& server, Time limit);
  Result<void> send(const std::vector<PgStatement>& statements);
  Answers receive(PgCall& call, std::size_t statements, int ends, Time started, Time limit);
  Result<void> await_answer(PgCall& call, Time started, Time limit);
  Error lost(const Error& reason, Time started, Time limit);
  void explain(PgNoConnection& why, const PgServer& server, Time limit);
  Error unreachable(const PgNoConnection& why, const std::string& others);
  Error refusal(const std::string& state, const std::string& text);
  void collect_notifications();

  PgAddress address_;
  TlsSettings tls_;
  const Interrupt* interrupt_;
  PgConnection connection_;
  Intake intake_;  // of it
  PgFailure failure_;
  Time sent_at_{};
  std::vector<std::string> notifications_;
  bool in_transaction_ = false;  // the newest run left one open
  bool owes_sign_ = false;       // ask_alive() has asked
  bool has_answered_ = false;    // a connection was made once
  HangUps hang_ups_;             // before that
};

// What is left until the limit, for "set local statement_timeout = …": at least 1, as 0 is no
// limit. It bounds each statement from its arrival on, not the whole run.
long long statement_timeout_ms(Time limit, Time now);

}  // namespace dlock
