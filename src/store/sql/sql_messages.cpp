// SPDX-License-Identifier: MIT
// The part of SqlStore that sends statements to the server. Each message is one call of run().
#include "store/sql/sql_store.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using sql::Answer;
using sql::Cause;
using sql::LockRow;
using sql::LockWrite;
using sql::Statement;

Error SqlStore::strange_answer() const {
  return {Errc::protocol, where() + " gave an answer of an unknown kind"};
}

Result<SqlStore::Rows> SqlStore::rows_of(const std::vector<std::string>& names,
                                         bool has_line,
                                         const std::vector<Answer>& answers) const {
  const auto now_us = say_.clock_in(answers[names.size()].rows);
  if (!now_us) return strange_answer();
  Rows rows{.rows = {}, .now_us = *now_us, .sent_at = sent_at()};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const sql::Table& found = answers[i].rows;
    if (!say_.has_locks(found, 1)) return strange_answer();
    LockRow row = found.empty() ? LockRow{.name = names[i], .state = {}} : say_.lock_in(found[0]);
    if (has_line) {
      const sql::Table& line = answers[names.size() + 1 + i].rows;
      if (!say_.has_line(line)) return strange_answer();
      row.line = sql::line_of(line);
    }
    rows.rows.push_back(std::move(row));
  }
  if (say_.has_four_columns()) {
    const auto own = sql::only_number(answers.back().rows);
    if (!own) return strange_answer();
    rows.own_columns = *own;
  }
  return rows;
}

Result<SqlStore::Rows> SqlStore::all_rows_of(const Answer& clock, const sql::Table& locks) const {
  const auto now_us = say_.clock_in(clock.rows);
  if (!now_us || !say_.has_locks(locks, locks.size())) return strange_answer();
  Rows rows{.rows = {}, .now_us = *now_us, .sent_at = sent_at()};
  for (const sql::Values& values : locks)
    rows.rows.push_back(say_.lock_in(values));
  return rows;
}

Result<SqlStore::Rows> SqlStore::load(const std::vector<std::string>& names,
                                      Purpose purpose,
                                      Time limit) {
  const bool to_write = purpose == Purpose::writing;
  const bool has_line = purpose != Purpose::reading_locks && !say_.has_four_columns();
  std::vector<Statement> all;
  all.reserve(2 * names.size() + 2);
  for (const std::string& name : names)
    all.push_back(say_.select_lock(name, to_write));
  all.push_back(say_.clock());
  for (const std::string& name : names)
    if (has_line) all.push_back(say_.select_line(name));
  if (say_.has_four_columns()) all.push_back(say_.own_columns());
  const auto answers = run(all,
                           to_write ? Scope::begins : Scope::reads,
                           has_line ? Uses::locks_and_line : Uses::locks,
                           limit);
  if (!answers) return answers.error();
  return rows_of(names, has_line, *answers);
}

Result<SqlStore::Rows> SqlStore::load_behind(const std::string& name, Time limit) {
  const auto answers =
      run({say_.clock(), say_.select_locks_behind(name, k_page)}, Scope::alone, Uses::locks, limit);
  if (!answers) return answers.error();
  return all_rows_of(answers->front(), answers->back().rows);
}

Result<SqlStore::Rows> SqlStore::load_clock(Time limit) {
  const auto answers = run({say_.clock()}, Scope::alone, Uses::no_table, limit);
  if (!answers) return answers.error();
  return all_rows_of(answers->front(), {});
}

// Creates missing rows, in transactions of their own. On MySQL an INSERT that finds the row locks
// it, shared with others; two sessions that share this lock and then both want to write the row
// would deadlock.
Result<void> SqlStore::make_rows(const std::vector<std::string>& names, Time limit) {
  std::vector<Statement> all;
  all.reserve(names.size());
  for (const std::string& name : names)
    all.push_back(say_.make_row(name));
  const auto answers = run(all, Scope::alone, Uses::locks, limit);
  if (!answers) return answers.error();
  return {};
}

Result<void> SqlStore::make_tables(Time limit) {
  std::vector<Statement> all;
  for (std::string& text : say_.dialect().tables(table_))
    all.push_back({std::move(text)});
  const auto answers = run(all, Scope::alone, Uses::no_table, limit);
  if (answers || cause() == Cause::exists) return {};
  const Error& error = answers.error();
  return Error{error.code, "cannot make the table " + table_ + ": " + error.text};
}

Result<bool> SqlStore::write(const std::vector<LockWrite>& writes,
                             const std::vector<std::string>& wakes,
                             Basis basis,
                             Time limit) {
  const bool was_read = basis == Basis::loaded;
  std::vector<Statement> all;
  std::vector<std::size_t> updates;
  // Locks the row before it writes the line. Every change of a lock takes this order, because
  // otherwise two changes could deadlock.
  for (const LockWrite& one : writes)
    if (!was_read) all.push_back(say_.lock_row(one.name));
  bool has_line = false;
  for (const LockWrite& one : writes) {
    if (one.lock) updates.push_back(all.size());
    if (one.lock) all.push_back(say_.update(one, was_read));
    has_line = has_line || !one.line.written.empty() || !one.line.gone.empty();
    say_.add_line(all, one);
  }
  for (const std::string& id : wakes)
    if (say_.dialect().wake != nullptr) all.push_back(say_.dialect().wake(id));
  all.push_back({all.empty() ? "rollback" : "commit"});
  if (auto bell = wakes.empty() ? std::nullopt : ring()) all.push_back(std::move(*bell));
  const auto answers = run(all,
                           was_read ? Scope::continues : Scope::begins,
                           has_line ? Uses::locks_and_line : Uses::locks,
                           limit);
  if (!answers) return answers.error();
  return std::all_of(
      updates.begin(), updates.end(), [&](std::size_t i) { return (*answers)[i].affected == 1; });
}

}  // namespace dlock
