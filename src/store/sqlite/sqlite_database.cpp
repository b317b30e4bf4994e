// SPDX-License-Identifier: MIT
#include "store/sqlite/sqlite_database.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "store/local/sharing.hpp"
#include "store/sqlite/database_file.hpp"
#include "sys/limits.hpp"

#include <poll.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// SQLite compiles a statement into steps. on_turn(), its progress handler, stops a statement at its
// time limit or by an interrupt. SQLite calls on_turn() after k_steps_of_a_turn steps, but only
// where the statement jumps back. A long statement without a loop would not be stopped, and each of
// its steps can build a text of k_answer_bytes. So k_most_steps limits how many steps a statement
// has: dlock's have 100, and the schema of the file (constraints, indexes) may add a few.
constexpr int k_most_steps = 512;
constexpr int k_steps_of_a_turn = 32;

Errc meaning_of(int code, int number) {
  switch (code & 0xff) {
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return Errc::denied;
    case SQLITE_CANTOPEN:
      return number == EACCES || number == EPERM ? Errc::denied : Errc::unavailable;
    case SQLITE_BUSY:
    case SQLITE_INTERRUPT:
      return Errc::timed_out;
    case SQLITE_IOERR:
      return Errc::unavailable;
    // FULL, CORRUPT, NOTADB, NOMEM, a table with other columns, …: the user must repair the file.
    default:
      return Errc::refused;
  }
}

// Sets what concerns all connections. Returns false if dlock cannot see what SQLite opens.
bool prepare_library() {
  // Otherwise a connection makes room for 20 pages at once, and touches all of it; it needs four.
  (void)::sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 0);
  sqlite3_vfs* const files = ::sqlite3_vfs_find(nullptr);
  // SQLite has this type for every system call.
  const auto ours = reinterpret_cast<sqlite3_syscall_ptr>(&open_judged);
  return files != nullptr && files->xSetSystemCall(files, "open", ours) == SQLITE_OK;
}

// Replaces some functions of SQL by an error: one call of such a function can take hours with long
// texts, because its time grows with the product of their lengths. No statement of dlock uses these
// functions. A constraint in the file that uses one makes the statement fail.
void leave_out_slow_functions(sqlite3* db) {
  constexpr std::pair<const char*, int> k_slow[] = {
      {"instr", 2}, {"ltrim", 2}, {"replace", 3}, {"rtrim", 2}, {"trim", 2}};
  ::sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 0);  // GLOB and LIKE
  const auto refuse = [](sqlite3_context* call, int, sqlite3_value**) {
    ::sqlite3_result_error(call, "what stands in the file takes too long", -1);
  };
  for (const auto& [name, arguments] : k_slow)
    ::sqlite3_create_function(db, name, arguments, SQLITE_UTF8, nullptr, refuse, nullptr, nullptr);
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one {};
  struct stat other {};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

std::string SqliteRow::text(int column) const {
  const auto* const bytes = static_cast<const char*>(::sqlite3_column_blob(row_, column));
  const auto size = static_cast<std::size_t>(::sqlite3_column_bytes(row_, column));
  return bytes != nullptr ? std::string(bytes, size) : std::string();
}

std::int64_t SqliteRow::number(int column) const {
  return ::sqlite3_column_int64(row_, column);
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::string& path,
                                                             const Interrupt* interrupt) {
  std::unique_ptr<SqliteDatabase> one(new SqliteDatabase(path, interrupt));
  one->begin(BootClock::now() + 1s);
  static const bool judges = prepare_library();
  if (!judges) return Error{Errc::system, "cannot use SQLite: dlock cannot see what it opens"};
  (void)take_refusal();  // forgets why a file of an earlier database was refused
  if (auto made = make_database_file(path); !made) return made.error();
  ::sqlite3_hard_heap_limit64(limits::k_sqlite_bytes);
  constexpr int k_flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  int code = ::sqlite3_open_v2(path.c_str(), &one->db_, SQLITE_OPEN_READWRITE | k_flags, nullptr);
  if ((code & 0xff) == SQLITE_CANTOPEN) {
    ::sqlite3_close(one->db_);
    one->db_ = nullptr;
    code = ::sqlite3_open_v2(path.c_str(), &one->db_, SQLITE_OPEN_READONLY | k_flags, nullptr);
  }
  if (code != SQLITE_OK) return one->failed("open");
  if (auto ready = one->set_up(); !ready) return ready.error();
  return one;
}

void SqliteDatabase::Finalize::operator()(sqlite3_stmt* statement) const {
  ::sqlite3_finalize(statement);
}

SqliteDatabase::~SqliteDatabase() {
  statements_.clear();  // a database with statements cannot be closed
  ::sqlite3_close(db_);
}

Result<void> SqliteDatabase::set_up() {
  ::sqlite3_busy_handler(db_, &on_busy, this);
  ::sqlite3_progress_handler(db_, k_steps_of_a_turn, &on_turn, this);
  ::sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, static_cast<int>(limits::k_answer_bytes));
  ::sqlite3_limit(db_, SQLITE_LIMIT_VDBE_OP, k_most_steps);
  ::sqlite3_limit(db_, SQLITE_LIMIT_ATTACHED, 0);
  leave_out_slow_functions(db_);
  // Another user may have written the file, so nothing in the file may run code.
  ::sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  ::sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  ::sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  ::sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  ::sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // on_commit() takes the place of SQLite's automatic checkpoint.
  ::sqlite3_wal_hook(db_, &on_commit, this);
  if (::sqlite3_db_readonly(db_, "main") == 1) return {};
  if (has_log()) return run("PRAGMA synchronous=NORMAL");
  std::string mode;
  const auto take = [&](const SqliteRow& row) { mode = row.text(0); };
  if (auto done = run("PRAGMA journal_mode=WAL", {}, take); !done) return done;
  if (mode != "wal") {
    return Error{Errc::refused, "cannot use " + printable(path_) + ": no write-ahead log there"};
  }
  return run("PRAGMA synchronous=NORMAL");
}

// Returns whether the file says that it has a write-ahead log (sqlite.org/fileformat.html, 1.3.3).
bool SqliteDatabase::has_log() const {
  sqlite3_file* file = nullptr;
  std::array<unsigned char, 20> header{};
  ::sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return file != nullptr && file->pMethods != nullptr &&
         file->pMethods->xRead(file, header.data(), header.size(), 0) == SQLITE_OK &&
         header[18] == 2 && header[19] == 2;
}

// Returns the error for what SQLite has reported: "cannot <act> /var/lib/dlock/dlock.db: permission
// denied".
Error SqliteDatabase::failed(std::string_view act) const {
  const std::string what = "cannot " + std::string(act) + ' ' + printable(path_) + ": ";
  if (interrupted_) return {Errc::cancelled, what + "interrupted"};
  if (auto refusal = take_refusal()) return std::move(*refusal);
  const int code = db_ != nullptr ? ::sqlite3_extended_errcode(db_) : SQLITE_NOMEM;
  const int number = db_ != nullptr ? ::sqlite3_system_errno(db_) : 0;
  if ((code & 0xff) == SQLITE_BUSY) {
    return {Errc::timed_out, what + "another process has locked the file"};
  }
  if ((code & 0xff) == SQLITE_INTERRUPT)
    return {Errc::timed_out, what + "what stands in the file takes too long"};
  const bool system = (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_IOERR;
  std::string reason = system && number != 0 ? errno_text(number) : ::sqlite3_errmsg(db_);
  const Errc meaning = meaning_of(code, number);
  struct stat file {};
  if (meaning != Errc::denied) return {meaning, what + printable(reason)};
  if (::access(path_.c_str(), W_OK) != 0 && errno == EROFS)
    return {Errc::refused, what + errno_text(EROFS)};
  if (::stat(path_.c_str(), &file) == 0) reason += "; it has " + local::rights_of(file);
  return local::with_advice({meaning, what + printable(reason)}, directory_of(path_));
}

// SQLite calls this if another process has the write lock, which is usually a matter of a hundred
// microseconds. Waits for 0.1 ms, then always twice as long, up to 4 ms. Returns 1 if SQLite is to
// try again, 0 if it is to give up.
int SqliteDatabase::on_busy(void* self, int tries) {
  auto* const db = static_cast<SqliteDatabase*>(self);
  const Time now = BootClock::now();
  if (now >= db->limit_) return 0;
  constexpr Duration k_first = 100us;
  constexpr Duration k_longest = 4ms;
  const Duration step = std::min(k_first * (1 << std::min(tries, 6)), k_longest);
  pollfd wait = polled(db->interrupt_);
  const timespec time{.tv_sec = 0, .tv_nsec = std::min(step, db->limit_ - now).count()};
  const int n = ::ppoll(&wait, 1, &time, nullptr);
  db->interrupted_ = n > 0 && ends_call(db->interrupt_, wait);
  return db->interrupted_ ? 0 : 1;
}

int SqliteDatabase::on_turn(void* self) {
  auto* const db = static_cast<SqliteDatabase*>(self);
  const Time now = BootClock::now();
  if (now >= db->limit_) return 1;
  if (now < db->looks_again_) return 0;
  db->looks_again_ = now + 10ms;
  pollfd wait = polled(db->interrupt_);
  db->interrupted_ = ::poll(&wait, 1, 0) > 0 && ends_call(db->interrupt_, wait);
  return db->interrupted_ ? 1 : 0;
}

int SqliteDatabase::on_commit(void* self, sqlite3* /*db*/, const char* /*name*/, int pages) {
  static_cast<SqliteDatabase*>(self)->log_pages_ = pages;
  return SQLITE_OK;
}

void SqliteDatabase::begin(Time limit) {
  limit_ = limit;
  looks_again_ = BootClock::now() + 10ms;
  interrupted_ = false;
}

Result<void> SqliteDatabase::begin_write(Time limit) {
  begin(limit);
  return run("BEGIN IMMEDIATE");
}

Result<void> SqliteDatabase::begin_read(Time limit) {
  begin(limit);
  return run("BEGIN");
}

Result<void> SqliteDatabase::commit() {
  return run("COMMIT");
}

void SqliteDatabase::roll_back() {
  if (::sqlite3_get_autocommit(db_) == 0)
    ::sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<void> SqliteDatabase::run(std::string_view sql,
                                 const std::vector<Value>& values,
                                 const Each& each) {
  auto kept = statements_.find(sql);
  if (kept == statements_.end()) {
    sqlite3_stmt* made = nullptr;
    if (::sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &made, nullptr) !=
        SQLITE_OK) {
      return failed("use");
    }
    kept = statements_.emplace(sql, made).first;
  }
  sqlite3_stmt* const made = kept->second.get();
  // Until it is reset, a statement keeps its transaction open.
  const std::unique_ptr<sqlite3_stmt, decltype(&::sqlite3_reset)> in_use(made, &::sqlite3_reset);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int at = static_cast<int>(i) + 1;
    if (const auto* text = std::get_if<std::string>(&values[i])) {
      ::sqlite3_bind_text(made, at, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
    } else {
      ::sqlite3_bind_int64(made, at, std::get<std::int64_t>(values[i]));
    }
  }
  int code = SQLITE_ROW;
  while ((code = ::sqlite3_step(made)) == SQLITE_ROW) {
    if (each) each(SqliteRow(made));
  }
  if (code != SQLITE_DONE) return failed("use");
  return {};
}

int SqliteDatabase::changes() const {
  return ::sqlite3_changes(db_);
}

bool SqliteDatabase::has_table(const char* name) const {
  return ::sqlite3_table_column_metadata(
             db_, "main", name, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::string SqliteDatabase::file() const {
  return ::sqlite3_db_filename(db_, "main");
}

bool SqliteDatabase::has_moved() {
  int moved = 0;
  ::sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  // SQLite follows symbolic links, and keeps the log beside the real file.
  const std::string file = this->file();
  if (file != path_ && !is_same_file(file, path_)) moved = 1;
  // The log and its index exist from the first statement on. Closing the database keeps them.
  for (auto& [end, first_seen] : beside_) {
    struct stat now {};
    const ino_t seen = ::stat((file + end).c_str(), &now) == 0 ? now.st_ino : 0;
    if (first_seen == 0) first_seen = seen;
    if (first_seen != seen) moved = 1;
  }
  return moved != 0;
}

void SqliteDatabase::shorten_log(int least_pages) {
  if (log_pages_ < least_pages) return;
  // Does not wait. If another process is writing, its checkpoint or a later one shortens the log.
  limit_ = BootClock::now();
  if (::sqlite3_wal_checkpoint_v2(db_, "main", SQLITE_CHECKPOINT_RESTART, nullptr, nullptr) ==
      SQLITE_OK) {
    log_pages_ = 0;
  }
}

}  // namespace dlock
