// SPDX-License-Identifier: MIT
// SqliteDatabase: one connection to an SQLite file, with what dlock needs: statements within a
// transaction, with a write-ahead log. No other class uses the library.
//
// It promises that a call ends at its limit, or when it is interrupted, while it waits for
// another writer or evaluates what the file's schema adds to a statement. No value is longer than
// k_answer_bytes. The next reader sees what was committed, but the commit may not survive a power
// failure (synchronous is NORMAL): leases end with the boot anyway. It does not promise that a call
// ends if the disk hangs in the kernel (StoreTraits::may_hang). One thread at a time.
//
// A checkpoint writes the log into the database. SQLite's automatic checkpoints are off; only
// shorten_log() makes one, while this process has the write lock. Up to SQLite 3.51.2 a checkpoint
// beside a writer may lose what is being written (sqlite.org/wal.html, "The WAL-Reset Bug"). The
// last process does not remove the log, because creating it again would cost each run two syncs.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/interrupt.hpp"

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
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

  // Opens the file. Creates it if it does not exist. If this user may not write it, opens it for
  // reading only. Waits for the disk, and a second at most for a process that has locked the file.
  static Result<std::unique_ptr<SqliteDatabase>> open(const std::string& path,
                                                      const Interrupt* interrupt);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase();

  // Begins a transaction that writes; waits for the write lock. After Errc::timed_out and
  // Errc::cancelled no transaction has begun.
  Result<void> begin_write(Time limit);
  Result<void> begin_read(Time limit);
  Result<void> commit();
  void roll_back();  // drops what the transaction has written

  // Runs one statement. `values` stand for its "?", in their order; `each` is called with each row.
  // A statement is compiled the first time and kept.
  Result<void> run(std::string_view sql,
                   const std::vector<Value>& values = {},
                   const Each& each = {});

  // Returns how many rows the last statement that writes has changed.
  int changes() const;
  // Returns whether the table exists, as far as this connection has seen the file.
  bool has_table(const char* name) const;
  // Returns the path of the file, without symbolic links.
  std::string file() const;

  // Returns whether the path of the database, of its log or of its index now names another file or
  // no file. If so, other processes do not see what is written here.
  bool has_moved();

  // Makes a checkpoint if the log has at least so many pages (a run writes two) and no other
  // process is writing. Then the log is used from its start again. Waits for the disk.
  void shorten_log(int least_pages);

 private:
  SqliteDatabase(std::string path, const Interrupt* interrupt)
      : path_(std::move(path)), interrupt_(interrupt) {}
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void begin(Time limit);
  Result<void> set_up();
  bool has_log() const;
  Error failed(std::string_view act) const;
  static int on_busy(void* self, int tries);
  static int on_turn(void* self);
  static int on_commit(void* self, sqlite3* db, const char* name, int pages);

  std::string path_;
  const Interrupt* interrupt_;
  sqlite3* db_ = nullptr;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> statements_;
  Time limit_{};              // limit of the running call
  Time looks_again_{};        // time of the next test for an interrupt
  bool interrupted_ = false;  // an interrupt has ended the newest call
  int log_pages_ = 0;
  std::array<std::pair<const char*, ino_t>, 2> beside_{{{"-wal", 0}, {"-shm", 0}}};
};

}  // namespace dlock
