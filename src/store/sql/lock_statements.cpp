// SPDX-License-Identifier: MIT
#include "store/sql/lock_statements.hpp"

#include "store/record_json.hpp"

#include <utility>

namespace dlock::sql {

namespace {

// Adds a parameter to the statement, and returns the text that stands for it, such as "$2".
std::string parameter(Statement& statement, std::string value) {
  statement.parameters.emplace_back(std::move(value));
  return '$' + std::to_string(statement.parameters.size());
}

constexpr std::size_t k_lock_columns = 7;
constexpr std::size_t k_line_columns = 4;

}  // namespace

LockStatements::LockStatements(const Dialect& dialect, std::string table)
    : dialect_(dialect), locks_(std::move(table)), line_(locks_ + "_line") {}

void LockStatements::call_tables(std::string locks, std::string line) {
  locks_ = std::move(locks);
  line_ = std::move(line);
}

std::string LockStatements::of_name() const {
  return std::string(" where name") + std::string(dialect_.equals) + "$1";
}

std::string LockStatements::select_locks() const {
  std::string text = std::string("select name, ") + (has_four_columns_ ? "''" : "state");
  text += ", " + dialect_.select_time("lock_until") + ", " + dialect_.select_time("locked_at");
  text += std::string(", locked_by, ") + (has_four_columns_ ? "0" : "version") + ", ";
  return text.append(dialect_.unfit).append(" from ").append(locks_);
}

std::string LockStatements::add_columns(const std::string& table) const {
  std::string text = "alter table " + table;
  text +=
      " add column token bigint not null default 0, add column version bigint not null default ";
  return text.append("0, add column state ").append(dialect_.state_column);
}

Statement LockStatements::select_lock(const std::string& name, bool locks_row) const {
  Statement statement{select_locks() + of_name(), {name}};
  if (locks_row) statement.text += dialect_.locks_rows;
  return statement;
}

Statement LockStatements::select_locks_behind(const std::string& name, std::size_t count) const {
  std::string text = select_locks() + " where name" + std::string(dialect_.is_greater);
  return {text + "$1 order by name limit " + std::to_string(count), {name}};
}

Statement LockStatements::select_line(const std::string& name) const {
  const std::string columns = "arrival, waiter, alive_until, who";
  return {"select " + columns + " from " + line_ + of_name() + " order by arrival", {name}};
}

Statement LockStatements::lock_row(const std::string& name) const {
  std::string text = "select 1 from " + locks_ + of_name();
  return {text.append(dialect_.locks_rows), {name}};
}

Statement LockStatements::make_row(const std::string& name) const {
  const std::string now(dialect_.now);
  const bool names_state = !has_four_columns_ && !dialect_.state_has_default;
  std::string text = "insert into " + locks_ + " (name, lock_until, locked_at, locked_by";
  text += (names_state ? ", state) values ($1, " : ") values ($1, ") + now + ", " + now;
  text += names_state ? ", '', '')" : ", '')";
  return {text.append(dialect_.keeps_row), {name}};
}

Statement LockStatements::update(const LockWrite& write, bool was_read) const {
  const LockColumns& columns = write.columns;
  const std::string equals(dialect_.equals);
  Statement all{"update " + locks_, {write.name}};
  all.text += " set lock_until = " + dialect_.time_of(columns.lock_until_us);
  if (columns.locked_at_us != 0)
    all.text += ", locked_at = " + dialect_.time_of(columns.locked_at_us);
  all.text += ", locked_by = " + parameter(all, columns.locked_by);
  if (!has_four_columns_) {
    all.text += ", token = " + std::to_string(write.token) + ", version = version + 1, state = ";
    all.text += parameter(all, write.state);
  }
  all.text += of_name();
  const LockRow& before = *write.before;
  if (!has_four_columns_) all.text += " and version" + equals + std::to_string(before.version);
  if (has_four_columns_ || !was_read)
    all.text += " and locked_by" + equals + parameter(all, before.columns.locked_by);
  if (was_read) return all;
  all.text += " and state" + equals + parameter(all, before.state.value_or(""));
  all.text += " and not exists (select 1 from " + line_ + of_name() + ")";
  return all;
}

void LockStatements::add_line(std::vector<Statement>& all, const LockWrite& write) const {
  for (const lease_table::Place* place : write.line.gone) {
    const std::string arrival = std::to_string(place->arrival_us);
    all.push_back({"delete from " + line_ + of_name() + " and arrival = " + arrival, {write.name}});
  }
  for (const lease_table::Place* place : write.line.written) {
    std::string text(dialect_.put);
    text += " into " + line_ + " (name, arrival, waiter, alive_until, who) values ($1, ";
    text += std::to_string(place->arrival_us) + ", $2, ";
    text += std::to_string(us_of(place->alive_until)) + ", $3)";
    text += dialect_.put_end;
    all.push_back({std::move(text), {write.name, place->id, waiter_json(*place->waiter)}});
  }
}

bool LockStatements::has_locks(const Table& table, std::size_t most_rows) {
  return has_shape(table, most_rows, k_lock_columns);
}

bool LockStatements::has_line(const Table& table) {
  return has_shape(table, table.size(), k_line_columns);
}

std::int64_t LockStatements::time_in(const Value& value) const {
  return possible_time(dialect_.us_in(value).value_or(0));
}

LockRow LockStatements::lock_in(const Values& row) const {
  LockRow lock{.name = text_at(row, 0),
               .state = text_at(row, 1),
               .columns = {.lock_until_us = time_in(row[2]),
                           .locked_at_us = time_in(row[3]),
                           .locked_by = text_at(row, 4)},
               .version = number_at(row, 5)};
  if (const std::string type = text_at(row, 6); !type.empty())
    lock.unfit = "lock_until is a " + type + ", and has to be a timestamp without time zone";
  return lock;
}

std::optional<std::int64_t> LockStatements::clock_in(const Table& answer) const {
  constexpr std::int64_t k_latest = lease_table::k_latest_clock_ms * k_us_per_ms;
  if (answer.size() != 1 || answer.front().empty()) return std::nullopt;
  const auto us = dialect_.us_in(answer.front().front());
  return us && *us >= 0 && *us <= k_latest ? us : std::nullopt;
}

}  // namespace dlock::sql
