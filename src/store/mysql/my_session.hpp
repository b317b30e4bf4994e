// SPDX-License-Identifier: MIT
// MySession: sends statements to one MariaDB or MySQL server and returns the answers. It connects
// when necessary. A session uses READ COMMITTED, commits each statement that is outside a
// transaction, refuses values that do not fit (STRICT_ALL_TABLES), speaks utf8mb4 and keeps the
// server's time zone. At a node of Galera it sees everything that other nodes have committed
// before.
//
// It promises that a call ends at its limit, which includes name lookup, connect and login, or by
// its Interrupt. After any error no transaction is open, and a late answer is never taken for the
// answer to the next request. For that, the connection is dropped. Only after a conflict, or if a
// table or column does not exist, the session rolls back and keeps it. Statements are never sent
// twice. An idle connection that the server has closed is replaced before statements are sent;
// within a transaction that is an error (unavailable).
//
// If server_errno() is 0 after an error, the outcome is unknown: the statements may have been
// executed, or may still be. Any other number is the server's answer: the failed statement had no
// effect, earlier ones had theirs, later ones were not executed. Codes about the connection are
// no_such_host, not_listening, unavailable, timed_out and cancelled. Codes from the server are
// denied (password, rights), unavailable (not now), bad_usage (a name does not fit its column) and
// refused (others). The code protocol means another kind of server, or one that is not trusted. One
// thread at a time.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/mysql/my_error.hpp"
#include "store/mysql/my_url.hpp"
#include "store/sql/statement.hpp"
#include "sys/interrupt.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct st_mysql;  // NOLINT(readability-identifier-naming): libmariadb's name

namespace dlock {

class MyWire;

class MySession {
 public:
  // `interrupt` ends calls; it may be null, and must live longer than this session.
  MySession(MyAddress address, const Interrupt* interrupt);
  MySession(const MySession&) = delete;
  MySession& operator=(const MySession&) = delete;
  ~MySession();

  // Sends all statements in one request, and returns an answer for each statement.
  Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements, Time limit);

  // Asks the server for a sign of life on the existing connection. If this fails and connected() is
  // still true, the answer may still come, and the next call of ask_alive() waits for it. A run()
  // drops a connection on which this answer has not come.
  Result<void> ask_alive(Time limit);
  bool owes_sign() const { return owes_sign_; }

  // Returns the value as a hexadecimal literal for a statement, so that no byte of it is read as
  // SQL. A value in UTF-8 becomes a text, with the collation of the value with which it is
  // compared. Other bytes become a binary string.
  static std::string quoted(std::string_view text);

  // Returns a time just before the first byte of the newest run() was sent.
  Time sent_at() const { return sent_at_; }
  // Returns why the newest run() failed.
  sql::Cause cause() const { return cause_; }
  // The error number that the server has reported for the newest run(); 0: it has reported no
  // error.
  unsigned int server_errno() const { return server_errno_; }

  bool connected() const { return mysql_ != nullptr; }
  // The newest run() has left a transaction open.
  bool in_transaction() const { return in_transaction_; }
  void disconnect();
  // Returns the number that the server gave the newest connection; 0 before the first connection.
  unsigned long connection_id() const { return connection_id_; }
  // Returns the version of the server, as "10.11.6-MariaDB-0+deb12u1" or "8.0.36".
  const std::string& server_version() const { return server_version_; }
  bool is_mariadb() const;
  const std::string& where() const { return address_.text; }
  const MyAddress& address() const { return address_; }

 private:
  struct Close {
    void operator()(st_mysql* mysql) const;
  };
  Result<void> reach(Time limit);
  Result<void> connect();
  Result<std::vector<sql::Answer>> ask(const std::string& text, std::size_t count);
  Result<sql::Answer> take_rows();
  bool undo();
  Error failure(bool connecting);

  MyAddress address_;
  std::unique_ptr<MyWire> wire_;
  std::unique_ptr<st_mysql, Close> mysql_;
  Time sent_at_{};
  Time started_{};  // start of the newest call
  Time limit_{};    // limit of the newest call
  sql::Cause cause_ = sql::Cause::other;
  unsigned int server_errno_ = 0;
  unsigned long connection_id_ = 0;
  std::string server_version_;
  bool prepared_ = false;   // the newest connection has been prepared as described above
  bool owes_sign_ = false;  // ask_alive() still waits for the server's answer
  bool in_transaction_ = false;
  bool knows_galera_ = true;
};

}  // namespace dlock
