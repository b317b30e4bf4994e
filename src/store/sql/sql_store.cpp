// SPDX-License-Identifier: MIT
#include "store/sql/sql_store.hpp"

#include "base/text.hpp"
#include "store/sql/four_columns.hpp"
#include "store/state_json.hpp"
#include "sys/limits.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using lease_table::StoredLock;
using sql::Cause;
using sql::LockRow;
using sql::LockWrite;

namespace {

std::vector<std::string> ordered(const std::vector<LockName>& names) {
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const LockName& name : names)
    texts.push_back(name.text());
  std::sort(texts.begin(), texts.end());
  return texts;
}

lease_table::Moment moment_of(std::int64_t now_us, Time sent_at) {
  return {.sent_at = sent_at,
          .now = lease_table::StoreTime(std::chrono::microseconds(now_us)),
          .wall_us = now_us};
}

// Returns whether a failed change of locks has changed nothing, and may succeed if it starts anew.
bool may_be_repeated(Cause cause) {
  return cause == Cause::repeat || cause == Cause::no_table || cause == Cause::no_column;
}

}  // namespace

SqlStore::SqlStore(const sql::Dialect& dialect, std::string table)
    : table_(std::move(table)), say_(dialect, table_) {}

void SqlStore::call_tables(std::string locks, std::string line) {
  say_.call_tables(std::move(locks), std::move(line));
}

Result<std::string> SqlStore::key_of(const LockName& name) const {
  if (is_utf8(name.text())) return name.text();
  return Error{
      Errc::bad_usage,
      "cannot keep lock " + in_quotes(name.text()) + " in " + where() + ": names there are UTF-8"};
}

StoreTraits SqlStore::traits() const {
  return {.line = !say_.has_four_columns(), .supersede = !say_.has_four_columns()};
}

Error SqlStore::too_few_columns() const {
  return {Errc::bad_config,
          "cannot keep this in " + where() + ": the table " + table_ +
              " has four columns, which is enough for one plain lock at a time: without --shared, "
              "--exclusive, --slots, --supersede and --once-per, not nested, not frozen, and "
              "revoked only by --now; "
              "or let its owner run: " +
              say_.add_columns(table_)};
}

// Returns the error for a table that has some of dlock's columns, but not all.
Error SqlStore::unknown_columns() const {
  return {Errc::bad_config,
          "cannot keep locks in " + where() + ": the table " + table_ +
              " lacks one of the columns token, version and state, or " + table_ +
              "_line one of its own: let their owner add what dlock doctor --ddl prints"};
}

std::optional<Error> SqlStore::refuses(const Claim& claim) const {
  if (!say_.has_four_columns()) return std::nullopt;
  const bool supersedes = claim.who.supersede != Supersede::nothing;
  if (claim.mode == Mode::plain && claim.once_per == Duration::zero() && !supersedes)
    return std::nullopt;
  return too_few_columns();
}

// Returns true the first time that a run() has failed because a column does not exist. Then the
// table counts from now on as one with the four columns of ShedLock, and the call may be repeated.
bool SqlStore::learns_columns() {
  if (cause() != Cause::no_column || say_.has_four_columns()) return false;
  say_.use_four_columns();
  return true;
}

Result<StoredLock> SqlStore::lock_of(const std::string& name,
                                     const LockRow& row,
                                     std::int64_t now_us) const {
  if (!row.state) return StoredLock();
  if (row.name != name) {
    return Error{Errc::bad_config,
                 "cannot keep lock " + in_quotes(name) + " in " + where() + ": the collation of " +
                     table_ + ".name makes it one with " + in_quotes(row.name)};
  }
  if (!row.unfit.empty())
    return Error{Errc::bad_config,
                 "cannot keep locks in " + table_ + " in " + where() + ": " + row.unfit};
  if (say_.has_four_columns()) return sql::lock_of_four(row.columns, now_us);
  if (auto lock = sql::lock_of(name, *row.state, row.columns)) return std::move(*lock);
  return Error{Errc::refused,
               "cannot read lock " + in_quotes(name) + ": its row in " + where() +
                   " is damaged: delete the row if no job runs under this lock"};
}

Result<std::vector<StoredLock>> SqlStore::locks_of(const std::vector<LockName>& names,
                                                   const Rows& rows) const {
  std::vector<StoredLock> locks;
  if (rows.own_columns > 0) return unknown_columns();
  if (rows.rows.empty()) return std::vector<StoredLock>(names.size());
  const std::vector<std::string> order = ordered(names);
  for (const LockName& name : names) {
    const auto at = std::lower_bound(order.begin(), order.end(), name.text()) - order.begin();
    const LockRow& row = rows.rows[static_cast<std::size_t>(at)];
    auto lock = lock_of(name.text(), row, rows.now_us);
    if (!lock) return lock.error();
    lock->line = row.line;
    locks.push_back(std::move(*lock));
  }
  return locks;
}

Result<LockWrite> SqlStore::write_of(const std::string& name,
                                     const StoredLock& lock,
                                     const Moment& moment) const {
  LockWrite write{.name = name, .lock = true};
  if (say_.has_four_columns()) {
    write.columns = sql::four_columns_of(lock, moment);
    return write;
  }
  write.columns = sql::columns_of(lock, moment);
  write.token = lock.token;
  auto json = state_to_write({name, {}, lock});
  if (!json) return json.error();
  write.state = std::move(*json);
  return write;
}

// How often a change of locks starts anew because its row was not written. A conflict with another
// program is over after fewer tries. After this many, something in the table prevents the write (a
// trigger, a policy).
constexpr int k_tries = 10;

Error SqlStore::row_stays(const std::string& why) const {
  return {Errc::refused, "cannot keep locks in " + table_ + " in " + where() + ": " + why};
}

// Locks and reads the rows, and creates those that are missing. If another program deletes a row
// while this function waits for it, the row is created again: a write to a missing row would be
// lost.
Result<SqlStore::Rows> SqlStore::load_to_write(const std::vector<std::string>& names, Time limit) {
  for (int tries = 0; tries < k_tries; ++tries) {
    auto rows = load(names, Purpose::writing, limit);
    if (!rows) return rows;
    std::vector<std::string> missing;
    for (const LockRow& row : rows->rows)
      if (!row.state) missing.push_back(row.name);
    if (missing.empty()) return rows;
    if (auto made = make_rows(missing, limit); !made) return made.error();
  }
  undo(limit);
  return row_stays(
      "a row that is made is not found: is the column name too narrow, or is there a "
      "policy that hides the row?");
}

void SqlStore::undo(Time limit) {
  (void)write({}, {}, Basis::loaded, limit).has_value();
}

Result<std::vector<LockWrite>> SqlStore::writes_of(const std::vector<LockName>& names,
                                                   const std::vector<StoredLock>& before,
                                                   const std::vector<StoredLock>& after,
                                                   const Moment& moment,
                                                   const Step& step) const {
  std::vector<LockWrite> writes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    LockWrite one{.name = names[i].text()};
    if (step.writes_lock(i)) {
      auto lock = write_of(one.name, after[i], moment);
      if (!lock) return lock.error();
      if (say_.has_four_columns() && !sql::fits_four_columns(after[i])) return too_few_columns();
      one = std::move(*lock);
    }
    one.line = sql::change_of(before[i].line, after[i].line);
    const bool any = one.lock || !one.line.written.empty() || !one.line.gone.empty();
    if (any) writes.push_back(std::move(one));
  }
  return writes;
}

Result<bool> SqlStore::step(const Rows& rows,
                            Basis basis,
                            const std::vector<LockName>& names,
                            Time limit,
                            const Change& change) {
  const auto before = locks_of(names, rows);
  if (!before) {
    if (basis == Basis::loaded) undo(limit);
    return before.error();
  }
  std::vector<StoredLock> after = *before;
  const Moment moment = moment_of(rows.now_us, rows.sent_at);
  const Step step = change(lease_table::pointers_to(after), moment);
  if (basis == Basis::remembered && !step.writes) return false;
  auto writes = writes_of(names, *before, after, moment, step);
  if (!writes) {
    if (basis == Basis::loaded) undo(limit);
    return writes.error();
  }
  for (LockWrite& one : *writes)
    one.before = &*std::find_if(rows.rows.begin(), rows.rows.end(), [&](const LockRow& row) {
      return row.name == one.name;
    });
  auto written = write(*writes, step.wakes, basis, limit);
  if (written && *written) remember(rows, *writes, after.front());
  return written;
}

void SqlStore::remember(const Rows& rows,
                        const std::vector<LockWrite>& writes,
                        const StoredLock& lock) {
  if (say_.has_four_columns() || rows.rows.size() != 1 || writes.size() != 1) return;
  const LockWrite& one = writes.front();
  if (!one.lock || !one.before->line.empty() || !one.line.written.empty()) return;
  const Moment moment = moment_of(rows.now_us, rows.sent_at);
  remembered_ = Remembered{.rows = rows, .all_live_until = Time::max()};
  for (const auto& [owner, lease] : lock.leases) {
    const Time end = rows.sent_at + (lease.expires - moment.now);
    remembered_->all_live_until = std::min(remembered_->all_live_until, end);
  }
  LockRow& row = remembered_->rows.rows.front();
  row.columns = one.columns;
  row.state = one.state;
  ++row.version;
}

// Returns whether this change of locks may be based on the remembered row. It may if it only
// releases the lock of that row, and no lease in the row has ended since. Then it would write the
// same after reading the row again.
bool SqlStore::is_as_remembered(const Remembered& remembered,
                                const std::vector<LockName>& names,
                                const Occasion& occasion) {
  return occasion.frees && names.size() == 1 &&
         remembered.rows.rows.front().name == names.front().text() &&
         BootClock::now() < remembered.all_live_until;
}

bool SqlStore::is_unchanged(const Remembered& remembered, const Rows& rows) {
  if (rows.rows.size() != 1) return false;
  const LockRow& before = remembered.rows.rows.front();
  const LockRow& row = rows.rows.front();
  return row.name == before.name && row.version == before.version && row.state == before.state &&
         row.columns.locked_by == before.columns.locked_by && row.line.empty();
}

Result<void> SqlStore::transact(const std::vector<LockName>& names,
                                const Occasion& occasion,
                                Time limit,
                                const Change& change) {
  prepare(occasion);
  const auto remembered = std::exchange(remembered_, std::nullopt);
  if (remembered && is_as_remembered(*remembered, names, occasion)) {
    const auto done = step(remembered->rows, Basis::remembered, names, limit, change);
    if (done && *done) return {};
    if (!done && !may_be_repeated(cause())) return done.error();
  }
  for (int tries = 0; tries < k_tries;) {
    const auto rows = load_to_write(ordered(names), limit);
    const auto done = rows ? step(*rows, Basis::loaded, names, limit, change) : rows.error();
    if (done && *done) {
      if (!remembered_ && remembered && is_unchanged(*remembered, *rows)) remembered_ = remembered;
      return {};
    }
    if (done) {
      ++tries;
      continue;
    }
    const Cause why = cause();
    if (learns_columns()) continue;
    if (BootClock::now() >= limit) return done.error();
    if (why == Cause::repeat) continue;
    if (why != Cause::no_table) return done.error();
    if (auto made = make_tables(limit); !made && cause() != Cause::repeat) return made;
  }
  return row_stays("a row that is written stays as it was: is there a trigger or a policy?");
}

// Reads the rows without locking them. If the table of lines does not exist, the lines are empty;
// if the table of locks does not exist, all locks are free.
Result<SqlStore::Rows> SqlStore::load_to_read(const std::vector<std::string>& names, Time limit) {
  auto rows = load(names, Purpose::reading, limit);
  if (!rows && learns_columns()) rows = load(names, Purpose::reading, limit);
  if (!rows && cause() == Cause::no_table) rows = load(names, Purpose::reading_locks, limit);
  if (!rows && cause() == Cause::no_table) rows = load_clock(limit);
  return rows;
}

Result<void> SqlStore::read(const std::vector<LockName>& names, Time limit, const Look& look) {
  const auto rows = load_to_read(ordered(names), limit);
  if (!rows) return rows.error();
  auto locks = locks_of(names, *rows);
  if (!locks) return locks.error();
  look(lease_table::pointers_to(*locks), moment_of(rows->now_us, rows->sent_at));
  return {};
}

Result<std::vector<std::string>> SqlStore::list(std::string_view glob, Time limit) {
  std::vector<std::string> names;
  std::string last;
  for (bool more = true; more;) {
    auto rows = load_behind(last, limit);
    if (!rows && learns_columns()) rows = load_behind(last, limit);
    if (!rows && cause() == Cause::no_table) return names;
    if (!rows) return rows.error();
    const Moment moment = moment_of(rows->now_us, rows->sent_at);
    for (const LockRow& row : rows->rows) {
      const auto lock = lock_of(row.name, row, rows->now_us);
      // If the row is damaged, the lock may be held. So it is listed, and inspect says what is
      // wrong with the row.
      const bool is_free = lock && !lease_table::is_live(*lock, moment.now);
      if (!is_free && lease_table::glob_matches(glob, row.name)) names.push_back(row.name);
    }
    if (names.size() > limits::k_names)
      return Error{Errc::refused,
                   where() + " has more than " + std::to_string(limits::k_names) +
                       " locks that match; give a narrower pattern"};
    more = rows->rows.size() >= k_page;
    if (more) last = rows->rows.back().name;
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dlock
