// SPDX-License-Identifier: MIT
#include "store/sqlite/sqlite_store.hpp"

#include "base/calendar.hpp"
#include "base/text.hpp"
#include "store/local/local_file.hpp"
#include "store/record_json.hpp"
#include "store/sql/lock_row.hpp"
#include "store/sqlite/bell.hpp"
#include "store/sqlite/database_file.hpp"
#include "store/state_json.hpp"
#include "store/table/waiting_line.hpp"
#include "sys/limits.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlock {

using lease_table::Line;
using lease_table::StoredLock;

namespace {

constexpr std::string_view k_scheme = "sqlite://";

// Most pages of the log. Each run opens the file alone and reads all of the log: with 1000 pages,
// SQLite's default, a run takes a third more time. But a checkpoint waits for the disk, so a
// renewal or a waiter makes one only at SQLite's default.
constexpr int k_log_after_a_run = 100;
constexpr int k_longest_log = 1000;

// How soon a waiter with a bell notices a change that rings no bell.
constexpr Duration k_without_bell = std::chrono::milliseconds(500);

struct Table {
  const char* name;
  std::string_view sql;
};
constexpr Table k_tables[] = {
    {"dlock",
     "CREATE TABLE IF NOT EXISTS dlock (name TEXT PRIMARY KEY NOT NULL, lock_until TEXT NOT NULL, "
     "locked_at TEXT NOT NULL, locked_by TEXT NOT NULL, token INTEGER NOT NULL DEFAULT 0, "
     "version INTEGER NOT NULL DEFAULT 0, state TEXT NOT NULL) WITHOUT ROWID"},
    {"dlock_line",
     "CREATE TABLE IF NOT EXISTS dlock_line (name TEXT NOT NULL, arrival INTEGER NOT NULL, waiter "
     "TEXT NOT NULL, alive_until INTEGER NOT NULL, who TEXT NOT NULL, PRIMARY KEY (name, arrival)) "
     "WITHOUT ROWID"}};
// Write the row of a lock. If the lock is free, the row keeps the last holder and the start of its
// hold. One statement for both takes three times as long to compile.
constexpr std::string_view k_update_lock =
    "UPDATE dlock SET lock_until = ?2, locked_at = CASE ?4 WHEN '' THEN locked_at ELSE ?3 END, "
    "locked_by = ?4, token = ?5, version = version + 1, state = ?6 WHERE name = ?1";
constexpr std::string_view k_insert_lock =
    "INSERT INTO dlock (name, lock_until, locked_at, locked_by, token, version, state) "
    "VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)";

// Returns the time as SQLite's functions and ShedLock read it: "2026-01-31 12:00:00.000".
std::string time_text(std::int64_t us) {
  return date_text(us).substr(0, 23);
}

}  // namespace

SqliteStore::SqliteStore(local::Place place, local::Machine machine, const Interrupt* interrupt)
    : place_(std::move(place)), machine_(std::move(machine)), interrupt_(interrupt) {}

Result<local::Place> SqliteStore::place_of(const StoreOptions& options) {
  return local::parse_url(options.url, k_scheme, "file", "sqlite:///var/lib/dlock/dlock.db");
}

Result<std::unique_ptr<LockStore>> SqliteStore::open(const local::Place& place,
                                                     const StoreOptions& options) {
  auto machine = local::Machine::here();
  if (!machine) return machine.error();
  const local::Place directory{.path = directory_of(place.path), .unshared = place.unshared};
  if (auto opened = local::open_directory(directory, /*made_if_missing=*/false); !opened) {
    return opened.error();
  }
  if (auto checked = check_database_file(place.path); !checked) return checked.error();
  return std::unique_ptr<LockStore>(new SqliteStore(place, std::move(*machine), options.interrupt));
}

std::string SqliteStore::where() const {
  return local::url_of(k_scheme, place_.path);
}

// Connects if there is no connection, or if the file was removed or replaced since it was opened.
Result<void> SqliteStore::connect() {
  if (db_ && !db_->has_moved()) return {};
  if (db_) {
    if (auto checked = check_database_file(place_.path); !checked) return checked;
  }
  db_.reset();
  has_tables_ = false;
  auto db = SqliteDatabase::open(place_.path, interrupt_);
  if (!db) return db.error();
  db_ = std::move(*db);
  return {};
}

Result<void> SqliteStore::prepare_tables() {
  for (const Table& table : k_tables) {
    if (has_tables_ || db_->has_table(table.name)) continue;
    if (auto made = db_->run(table.sql); !made) return made;
  }
  has_tables_ = true;
  return {};
}

Result<StoredLock> SqliteStore::load(const std::string& name) {
  StoredLock lock;
  std::optional<std::string> state;
  auto done = db_->run("SELECT state FROM dlock WHERE name = ?", {name}, [&](const SqliteRow& row) {
    state = row.text(0);
  });
  if (!done) return done.error();
  if (state && known_.name == name && known_.state == *state) {
    lock = known_.lock;
  } else if (state) {
    auto parsed = parse_state_file(*state);
    if (!parsed || parsed->name != name) {
      return Error{Errc::refused,
                   "cannot read lock " + in_quotes(name) + ": its row in " +
                       printable(place_.path) +
                       " is damaged: delete the row if no job runs under this lock"};
    }
    if (local::is_of_another_boot(*parsed, machine_.stamp())) lease_table::make_free(parsed->state);
    lock = std::move(parsed->state);
    known_ = {.name = name, .state = std::move(*state), .lock = lock};
  }
  auto line = load_line(name);
  if (!line) return line.error();
  lock.line = std::move(*line);
  return lock;
}

Result<Line> SqliteStore::load_line(const std::string& name) {
  Line line;
  // Size of the line without its texts. Another program may have made the line too long.
  std::size_t bytes = 0;
  auto done = db_->run(
      "SELECT arrival, waiter, alive_until, who FROM dlock_line WHERE name = ? "
      "ORDER BY arrival",
      {name},
      [&](const SqliteRow& row) {
        const lease_table::StoreTime alive_until(Duration(row.number(2)));
        std::string who = row.text(3);
        if (who.size() > limits::k_record_bytes) who.clear();
        auto place = sql::place_of(row.number(0), row.text(1), alive_until, std::move(who));
        bytes += place.id.size() + sizeof place;
        if (bytes <= limits::k_answer_bytes) line.push_back(std::move(place));
      });
  if (!done) return done.error();
  return line;
}

Result<std::vector<StoredLock>> SqliteStore::load_all(const std::vector<LockName>& names) {
  std::vector<StoredLock> states;
  for (const LockName& name : names) {
    auto state = load(name.text());
    if (!state) return state.error();
    states.push_back(std::move(*state));
  }
  return states;
}

Result<void> SqliteStore::write_lock(const std::string& name,
                                     const StoredLock& state,
                                     const Moment& moment) {
  const auto columns = sql::columns_of(state, moment);
  auto json = state_to_write({name, machine_.stamp(), state});
  if (!json) return json.error();
  known_ = {.name = name, .state = *json, .lock = state};
  known_.lock.line.clear();
  const std::vector<SqliteDatabase::Value> values{name,
                                                  time_text(columns.lock_until_us),
                                                  time_text(columns.locked_at_us),
                                                  columns.locked_by,
                                                  static_cast<std::int64_t>(state.token),
                                                  std::move(*json)};
  if (auto done = db_->run(k_update_lock, values); !done || db_->changes() > 0) return done;
  return db_->run(k_insert_lock, values);
}

Result<void> SqliteStore::write_line(const std::string& name,
                                     const StoredLock& before,
                                     const StoredLock& after) {
  const auto change = sql::change_of(before.line, after.line);
  for (const lease_table::Place* place : change.gone) {
    auto done = db_->run("DELETE FROM dlock_line WHERE name = ? AND arrival = ?",
                         {name, place->arrival_us});
    if (!done) return done;
  }
  for (const lease_table::Place* place : change.written) {
    auto done = db_->run(
        "REPLACE INTO dlock_line (name, arrival, waiter, alive_until, who) "
        "VALUES (?, ?, ?, ?, ?)",
        {name,
         place->arrival_us,
         place->id,
         place->alive_until.time_since_epoch().count(),
         waiter_json(*place->waiter)});
    if (!done) return done;
  }
  return {};
}

Result<void> SqliteStore::write_all(const std::vector<LockName>& names,
                                    const std::vector<StoredLock>& before,
                                    const std::vector<StoredLock>& after,
                                    const Step& step,
                                    const Moment& moment) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i].text();
    if (step.writes_lock(i)) {
      if (auto done = write_lock(name, after[i], moment); !done) return done;
    }
    if (auto done = write_line(name, before[i], after[i]); !done) return done;
  }
  return {};
}

Result<void> SqliteStore::transact(const std::vector<LockName>& names,
                                   const Occasion& occasion,
                                   Time limit,
                                   const Change& change) {
  const Time sent_at = BootClock::now();
  if (auto ready = connect(); !ready) return reached(Reach::nothing, ready.error());
  db_->shorten_log(occasion.frees ? k_log_after_a_run : k_longest_log);
  const auto failed = [&](const Error& error) {
    db_->roll_back();
    return error;
  };
  if (auto begun = db_->begin_write(limit); !begun) return reached(Reach::nothing, begun.error());
  if (auto ready = prepare_tables(); !ready) return failed(ready.error());
  const auto before = load_all(names);
  if (!before) return failed(before.error());
  std::vector<StoredLock> after = *before;
  const Moment moment = machine_.moment(sent_at);
  const Step step = change(lease_table::pointers_to(after), moment);
  auto written = write_all(names, *before, after, step, moment);
  if (!written) return failed(written.error());
  // If the file was replaced meanwhile, other processes cannot see these locks.
  if (db_->has_moved()) {
    return failed(
        {Errc::unavailable, "cannot use " + printable(place_.path) + ": it was replaced"});
  }
  if (auto done = db_->commit(); !done) return failed(done.error());
  tell(step, *before, after);
  return {};
}

void SqliteStore::tell(const Step& step,
                       const std::vector<StoredLock>& before,
                       const std::vector<StoredLock>& after) const {
  for (std::size_t i = 0; i < before.size(); ++i)
    if (lease_table::turn_began(before[i].line, after[i].line))
      ring(bell_of(db_->file(), after[i].line.front().id));
  if (step.tells) ::utimensat(AT_FDCWD, place_.path.c_str(), nullptr, 0);
  for (std::size_t i = 0; i < before.size(); ++i)
    for (const lease_table::Place* place : sql::change_of(before[i].line, after[i].line).gone)
      ::unlink(bell_of(db_->file(), place->id).c_str());
}

Result<void> SqliteStore::read(const std::vector<LockName>& names, Time limit, const Look& look) {
  const Time sent_at = BootClock::now();
  if (auto ready = connect(); !ready) return ready;
  if (auto begun = db_->begin_read(limit); !begun) return begun;
  if (!has_tables_) {
    std::size_t tables = 0;
    auto seen = db_->run("SELECT 1 FROM sqlite_schema WHERE name IN ('dlock', 'dlock_line')",
                         {},
                         [&](const SqliteRow&) { ++tables; });
    if (seen && tables == 1)
      seen =
          Error{Errc::refused, "one of the tables dlock and dlock_line is missing in " + where()};
    if (!seen) {
      db_->roll_back();
      return seen;
    }
    has_tables_ = tables == 2;
  }
  Result<std::vector<StoredLock>> states = std::vector<StoredLock>(names.size());
  if (has_tables_) states = load_all(names);
  db_->roll_back();
  if (!states) return states.error();
  look(lease_table::pointers_to(*states), machine_.moment(sent_at));
  return {};
}

Result<std::vector<std::string>> SqliteStore::list(std::string_view glob, Time limit) {
  std::vector<std::string> names;
  auto looked = read({}, limit, [](const lease_table::States&, const Moment&) {});
  if (!looked) return looked.error();
  if (!has_tables_) return names;
  auto done =
      db_->run("SELECT name, state FROM dlock ORDER BY name", {}, [&](const SqliteRow& row) {
        const std::string name = row.text(0);
        const auto lock = parse_state_file(row.text(1));
        // If the row is damaged, the lock may be held. So it is listed, and inspect says what is
        // wrong with the row.
        const bool is_free = lock && (local::is_of_another_boot(*lock, machine_.stamp()) ||
                                      !lease_table::is_live(lock->state, machine_.now()));
        if (!is_free && lease_table::glob_matches(glob, name)) names.push_back(name);
      });
  if (!done) return done.error();
  return names;
}

// A waiter behind others watches its bell, if it can be made; everybody else watches the file.
Result<void> SqliteStore::watch_rows(const std::vector<LockName>& /*names*/,
                                     const std::vector<std::string>& ids,
                                     Time /*limit*/) {
  // This creates the file, so that it can be watched.
  if (auto ready = connect(); !ready) return ready;
  Result<FileEvents> events = Error{};
  remove_bell();
  bell_ = watches_front() ? "" : bell_of(db_->file(), ids.front());
  if (!bell_.empty()) events = make_bell(bell_);
  if (!events) {
    bell_.clear();
    events = FileEvents::of(place_.path, IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF);
  }
  if (!events) return events.error();
  events_ = std::move(*events);
  ids_ = ids;
  (void)notes_change();
  return {};
}

// Removes our bell. Others do that only for a waiter that they take out of the line.
void SqliteStore::remove_bell() {
  if (!bell_.empty()) ::unlink(bell_.c_str());
  bell_.clear();
}

Result<bool> SqliteStore::await_change(Time until) {
  rang_ = false;
  if (!bell_.empty()) return await_bell(until);
  const auto any = [](std::string_view) { return true; };
  auto told = events_.wait(any, until, interrupt_);
  // A replaced file reports no more changes. So the file that is now at the path is watched.
  if (told && *told && db_ && db_->has_moved()) (void)watch_rows({}, ids_, until).has_value();
  return told;
}

// Waits for the bell, and looks now and then whether the file has changed without it.
Result<bool> SqliteStore::await_bell(Time until) {
  const auto any = [](std::string_view) { return true; };
  for (;;) {
    const Time next = std::min(until, BootClock::now() + k_without_bell);
    auto told = events_.wait(any, next, interrupt_);
    if (!told) return told;
    const bool has_changed = notes_change();
    rang_ = *told;
    if (rang_ && !has_bell(bell_)) (void)watch_rows({}, ids_, until).has_value();
    if (rang_ || has_changed) return true;
    if (BootClock::now() >= until) return false;
  }
}

// Returns whether a release has set the time of the file since the last call.
bool SqliteStore::notes_change() {
  struct stat file {};
  if (::stat(place_.path.c_str(), &file) != 0) return true;
  const Duration time =
      std::chrono::seconds(file.st_ctim.tv_sec) + std::chrono::nanoseconds(file.st_ctim.tv_nsec);
  return std::exchange(changed_at_, time) != time;
}

}  // namespace dlock
