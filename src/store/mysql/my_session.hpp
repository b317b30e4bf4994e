// SPDX-License-Identifier: MIT
// MySession: statements to one MariaDB or MySQL server and their results. It connects when
// necessary. A session is READ COMMITTED, commits each statement outside a transaction, refuses
// values that do not fit (STRICT_ALL_TABLES), speaks utf8mb4, leaves the server's time zone, and at
// a node of Galera (MariaDB) reads what any other node has committed.
//
// It promises: a call ends at its limit, name lookup, connect and login included, or by its
// Interrupt. After any error nothing is left open, and a late answer never meets the next request:
// the connection is dropped, or, after a collision or if a table or column is missing, rolled back
// and kept. It does not resend: only an idle connection that the server closed is replaced before
// the write, and never within a transaction, whose end is an error (unavailable).
//
// An error with server_errno() 0 is no verdict: the statements may have been carried out, or may
// still be. An error with a number is the server's word: that statement did nothing, those before
// it did what they say, those after it were not looked at. Codes: no_such_host, not_listening,
// unavailable, timed_out, cancelled on the way; from the server denied (password, rights),
// unavailable (not now), refused (the rest); protocol: another kind of server, or one that cannot
// be trusted. Every text names the server and never a password. One thread at a time.
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
  // `interrupt` may be null and must outlive us.
  MySession(MyAddress address, const Interrupt* interrupt);
  MySession(const MySession&) = delete;
  MySession& operator=(const MySession&) = delete;
  ~MySession();

  // Sends all statements in one request and returns an answer for each.
  Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements, Time limit);

  // Asks whether the connection still answers. The connection is not replaced, and the next call
  // takes a late answer: after an error the connection is gone unless it is still connected(). A
  // run() drops a connection that owes such an answer.
  Result<void> ask_alive(Time limit);
  bool owes_sign() const { return owes_sign_; }

  // A value in a statement: a hexadecimal literal, in which nothing can be misread. UTF-8 becomes
  // text, with the collation of what it is compared with; other bytes become a binary string.
  static std::string quoted(std::string_view text);

  // Read just before the first byte of the newest run() that was sent.
  Time sent_at() const { return sent_at_; }
  // Why the newest run() failed, if it did.
  sql::Cause cause() const { return cause_; }
  unsigned int server_errno() const { return server_errno_; }  // 0: the server reported no error

  bool connected() const { return mysql_ != nullptr; }
  bool in_transaction() const { return in_transaction_; }  // after the newest run()
  void disconnect();
  // The newest connection's number at the server, 0 before the first connection …
  unsigned long connection_id() const { return connection_id_; }
  // … and the server's version ("10.11.6-MariaDB-0+deb12u1", "8.0.36").
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
  Time started_{};  // the newest call …
  Time limit_{};    // … and its limit
  sql::Cause cause_ = sql::Cause::other;
  unsigned int server_errno_ = 0;
  unsigned long connection_id_ = 0;
  std::string server_version_;
  bool prepared_ = false;   // the session is prepared as described above
  bool owes_sign_ = false;  // ask_alive() still waits for its answer
  bool in_transaction_ = false;
  bool knows_galera_ = true;
};

}  // namespace dlock
