// SPDX-License-Identifier: MIT
// MySession: statements to one MariaDB or MySQL server and their results. It connects when it has
// to. A session is READ COMMITTED, commits each statement that is in no transaction, refuses values
// that do not fit (STRICT_ALL_TABLES), speaks utf8mb4, leaves the time zone as the server has it,
// and reads at a node of Galera (of MariaDB) what any other has committed.
//
// It promises: a call ends at its limit, name lookup, connect and login included, or by its
// Interrupt. After any error nothing is left open, and a late answer never meets the next question:
// the connection is dropped, or, after a collision or where a table or column is missing, rolled
// back and kept. It does not resend: only a connection that the server closed while it was idle is
// replaced first, and not in a transaction, whose end is an error (unavailable).
//
// An error with server_errno() 0 is no verdict: what was sent may have been carried out, or may
// still be. One with a number is the server's word: that statement did nothing, those before it did
// what they say, those behind it were not looked at. Codes: no_such_host, not_listening,
// unavailable, timed_out, cancelled of the way; denied (password, rights), unavailable (not now),
// refused (the rest) of the server; protocol: a server that is none, or that cannot be trusted.
// Every text names the server and never a password. One thread at a time.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/mysql/my_error.hpp"
#include "store/mysql/my_url.hpp"
#include "sys/interrupt.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct st_mysql;  // NOLINT(readability-identifier-naming): libmariadb's name

namespace dlock {

class MyWire;

// What one statement answered.
struct MyRows {
  using Value = std::optional<std::string>;  // nothing: NULL
  std::vector<std::string> columns;          // empty: a statement without rows
  std::vector<std::vector<Value>> rows;
  // Of a statement without rows. An UPDATE counts each row that its WHERE finds, changed or not;
  // INSERT … ON DUPLICATE KEY UPDATE counts 1 for a new row, and 2 for a changed one.
  unsigned long long affected = 0;
  unsigned long long insert_id = 0;  // also what LAST_INSERT_ID(…) was given; else 0
};

class MySession {
 public:
  // `interrupt` may be null and must outlive us.
  MySession(MyAddress address, const Interrupt* interrupt);
  MySession(const MySession&) = delete;
  MySession& operator=(const MySession&) = delete;
  ~MySession();

  // In one question; each text is one statement, without a ';'. One element for each.
  Result<std::vector<MyRows>> run(const std::vector<std::string>& statements, Time limit);

  // Does the connection that there is still answer? It is not replaced, and an answer that is late
  // is taken by the next call: after an error it is gone, unless it is still connected(). A run()
  // drops a connection that owes such an answer.
  Result<void> ask_alive(Time limit);
  bool owes_sign() const { return owes_sign_; }

  // A value in a statement: a hexadecimal literal, in which nothing can be misread. UTF-8 is text,
  // with the collation of what it is compared with; other bytes are a binary string.
  static std::string quoted(std::string_view text);

  // Just before the first byte of the newest run() was sent that came so far.
  Time sent_at() const { return sent_at_; }
  // Of the newest run(): none if it was without an error.
  MyFault fault() const { return fault_; }
  unsigned int server_errno() const { return server_errno_; }  // 0: the server gave no error

  bool connected() const { return mysql_ != nullptr; }
  void disconnect();
  // Of the newest connection: its number at the server, 0 before the first one …
  unsigned long connection_id() const { return connection_id_; }
  // … and what the server says it is ("10.11.6-MariaDB-0+deb12u1", "8.0.36").
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
  Result<std::vector<MyRows>> ask(const std::string& text, std::size_t count);
  Result<MyRows> take_rows();
  bool undo();
  Error failure(bool connecting);

  MyAddress address_;
  std::unique_ptr<MyWire> wire_;
  std::unique_ptr<st_mysql, Close> mysql_;
  Time sent_at_{};
  Time started_{};  // the newest call …
  Time limit_{};    // … and its limit
  MyFault fault_ = MyFault::none;
  unsigned int server_errno_ = 0;
  unsigned long connection_id_ = 0;
  std::string server_version_;
  bool prepared_ = false;   // the session is as it is described above
  bool owes_sign_ = false;  // ask_alive() has asked
  bool in_transaction_ = false;
  bool knows_galera_ = true;
};

}  // namespace dlock
