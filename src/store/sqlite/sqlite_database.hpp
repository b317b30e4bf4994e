// SPDX-License-Identifier: MIT
// SqliteDatabase: one connection to a file of SQLite, for all that dlock needs: statements within a
// transaction, in write-ahead mode. Only this class uses the library.
//
// Promises: a call that waits for another writer, or that computes because of the file's schema,
// ends at its limit or when it is interrupted. No value is longer than k_answer_bytes. The next
// reader sees a commit, but the commit may not survive a power failure (synchronous is NORMAL):
// leases end with the boot anyway. Not promised: that a call ends if it hangs in the kernel, on a
// disk (StoreTraits::may_hang). One thread at a time.
//
// SQLite's automatic checkpoints are off. Only shorten_log() makes one, under the write lock: up to
// SQLite 3.51.2 a checkpoint beside a writer may lose what is being written (sqlite.org/wal.html,
// "The WAL-Reset Bug"). The last process leaves the log: creating it again would cost each run two
// syncs.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/interrupt.hpp"

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace dlock {

class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* row) : row_(row) {}
  std::string text(int column) const;
  std::int64_t number(int column) const;

 private:
  sqlite3_stmt* row_;
};

class SqliteDatabase {
 public:
  using Value = std::variant<std::int64_t, std::string>;
  using Each = std::function<void(const SqliteRow&)>;

  // Opens the file, and creates it if it is missing; a read-only file is opened for reading. Waits
  // only for the disk.
  static Result<std::unique_ptr<SqliteDatabase>> open(const std::string& path,
                                                      const Interrupt* interrupt);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase();

  // Begins a transaction that writes; waits for the write lock. After Errc::timed_out and
  // Errc::cancelled none has begun.
  Result<void> begin_write(Time limit);
  Result<void> begin_read(Time limit);
  Result<void> commit();
  void roll_back();  // drops what the transaction has written

  // Runs one statement. `values`: for its "?"; `each` is called with each row.
  Result<void> run(std::string_view sql,
                   const std::vector<Value>& values = {},
                   const Each& each = {});

  // Returns whether the path of the database, of its log or of its index now names another file or
  // none: other processes then do not see what is written here.
  bool has_moved();

  // Makes a checkpoint if the log is long and no other process is writing.
  void shorten_log();

 private:
  SqliteDatabase(std::string path, const Interrupt* interrupt)
      : path_(std::move(path)), interrupt_(interrupt) {}
  void begin(Time limit);
  Result<void> set_up();
  Error failed(std::string_view act) const;
  static int on_busy(void* self, int tries);
  static int on_turn(void* self);
  static int on_commit(void* self, sqlite3* db, const char* name, int pages);

  std::string path_;
  const Interrupt* interrupt_;
  sqlite3* db_ = nullptr;
  Time limit_{};              // limit of the running call
  Time looks_again_{};        // the next check for an interrupt
  bool interrupted_ = false;  // an interrupt has ended the call
  int log_pages_ = 0;
  std::array<std::pair<const char*, ino_t>, 2> beside_{{{"-wal", 0}, {"-shm", 0}}};
};

}  // namespace dlock
