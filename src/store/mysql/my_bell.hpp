// SPDX-License-Identifier: MIT
// MyBell: lets a waiter in MariaDB sleep in the server until the one before it has gone.
// Each claim takes its bell, a lock of the server (GET_LOCK) whose name is made of the claim's id,
// and keeps it while it waits and while it holds. A waiter waits for the bell of its predecessor
// (TableStore::predecessor()). The server gives it that bell when the predecessor releases it, or
// when its session ends.
//
// A bell is only a hint: a woken waiter looks at the row, which decides. So no user of the server
// can do more with a bell than delay a waiter until it looks by itself.
//
// A waiter cannot use bells in MySQL, whose GET_LOCK waits for whole seconds only; where the
// sessions of clients share connections to the server (behind some proxies); and where the server
// refuses GET_LOCK. It cannot use the bell of a predecessor that has none, as the hold of `dlock
// acquire` or one at another node of Galera. It notices all that, and then polls.
//
// The caller sends the statements that this class returns, and reports their answers. One thread at
// a time.
#pragma once

#include "base/boot_clock.hpp"
#include "store/mysql/my_session.hpp"
#include "store/sql/statement.hpp"

#include <optional>
#include <string>

namespace dlock {

class MyBell {
 public:
  // Tells whose bell this session takes: that of a waiter or hold with this id.
  void belongs_to(const std::string& id);

  // Returns the statement that takes our bell without a wait; nullopt: this connection has it, or
  // bells cannot be used.
  std::optional<sql::Statement> take(const MySession& session) const;
  // Reports the answer to take().
  void taken(const sql::Answer& answer, const MySession& session);
  // Returns the statement that releases our bell, and with that wakes the waiter behind us;
  // nullopt: we have no bell.
  std::optional<sql::Statement> release();

  // Returns whether to wait for the bell of this predecessor, instead of polling.
  bool can_wait_for(const std::string& predecessor) const;
  // Returns the statement that waits, at most for `most`, for the bell of the predecessor, and
  // gives it back; not at all if `most` is over. MariaDB counts in microseconds,
  // https://mariadb.com/kb/en/get_lock/
  static sql::Statement await(const std::string& predecessor, Duration most);
  // Reports the answer to await(). If the predecessor has released its bell, and is still the
  // predecessor at the next look, it has none any more: can_wait_for() is false until there is
  // another.
  void waited(const sql::Answer& answer, const std::string& predecessor);

  // Bells cannot be used at this server.
  void give_up() { usable_ = false; }
  // Returns whether the error number is that of a server that refuses GET_LOCK: 1235 of some
  // versions of MariaDB with Galera, 1105 of Percona XtraDB Cluster.
  static bool is_refusal(unsigned int server_errno);

 private:
  std::string ours_;           // the name of our bell; empty: we have none
  std::string old_;            // the bell of an earlier claim, which is to be released
  unsigned long held_by_ = 0;  // the connection that has our bell; 0: none
  bool usable_ = true;
  std::string silent_;  // the predecessor whose bell was free
};

}  // namespace dlock
