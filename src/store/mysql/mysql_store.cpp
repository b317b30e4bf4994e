// SPDX-License-Identifier: MIT
#include "store/mysql/mysql_store.hpp"

#include "base/duration.hpp"
#include "store/mysql/my_engine.hpp"
#include "store/record_json.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// utc_timestamp() is the time when its statement began: the rows were locked before.
constexpr const char* k_clock = "select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))";

std::string quoted(std::string_view text) {
  return MySession::quoted(text);
}

std::string us_of(lease_table::StoreTime time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count());
}
std::string date_of(std::int64_t us) {
  return "date_add('1970-01-01', interval " + std::to_string(us) + " microsecond)";
}

// For this connection until the next step: no wait for a row outlasts the limit, rounded up to
// seconds, and on MariaDB no idle transaction does.
std::string bounded_by(Time limit) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(limit - BootClock::now());
  const std::string seconds = std::to_string(std::max<long long>(1, left.count()));
  return "set session innodb_lock_wait_timeout = " + seconds +
         " /*M! , idle_transaction_timeout = " + seconds + ", max_statement_time = " + seconds +
         " */";
}

// A TIMESTAMP column gives what was written if all sessions have the same time zone.
std::string us_of_column(const std::string& column) {
  return "timestampdiff(microsecond, '1970-01-01', " + column + ")";
}

}  // namespace

std::string MysqlStore::select_lock() const {
  return std::string("select name, ") + (has_four_columns() ? "''" : "state") + ", " +
         us_of_column("lock_until") + ", " + us_of_column("locked_at") + ", locked_by, " +
         (has_four_columns() ? "0" : "version") + ", '' from " + table_;
}

MysqlStore::MysqlStore(MyAddress address, const Interrupt* interrupt)
    : table_(address.table),
      line_table_(address.table + "_line"),
      interrupt_(interrupt),
      session_(std::move(address), interrupt) {}

Result<MyAddress> MysqlStore::address_of(const StoreOptions& options) {
  auto address = parse_my_url(options.url, options.tls);
  if (address && address->password.empty()) address->password = options.password;
  return address;
}

std::unique_ptr<MysqlStore> MysqlStore::open(const MyAddress& address,
                                             const StoreOptions& options) {
  return std::unique_ptr<MysqlStore>(new MysqlStore(address, options.interrupt));
}

// Names are bytes: a text would be compared without its trailing spaces.
std::vector<std::string> MysqlStore::tables(const std::string& table) {
  const std::string kind = " engine = InnoDB default character set utf8mb4";
  return {"create table if not exists " + table +
              " (name varbinary(512) not null primary key, lock_until datetime(6) not null, "
              "locked_at datetime(6) not null, locked_by varchar(255) not null, "
              "token bigint not null default 0, version bigint not null default 0, "
              "state mediumtext not null default (''))" +
              kind,
          "create table if not exists " + table +
              "_line (name varbinary(512) not null, arrival bigint not null, "
              "waiter varchar(255) not null, alive_until bigint not null, who text not null, "
              "primary key (name, arrival))" +
              kind};
}

std::string MysqlStore::missing_columns() const {
  return "alter table " + table_ +
         " add column token bigint not null default 0, add column version bigint not null "
         "default 0, add column state mediumtext not null default ('')";
}

SqlStore::Cause MysqlStore::cause() const {
  if (session_.fault() == MyFault::repeat) return Cause::repeat;
  if (session_.fault() == MyFault::no_column) return Cause::no_column;
  return session_.fault() == MyFault::no_table ? Cause::no_table : Cause::other;
}

// Refuses a table that is at fault, and undoes the transaction.
Result<void> MysqlStore::trusts(const MyRows& table) {
  const auto fault = table_fault(table);
  if (!fault) return {};
  session_.disconnect();
  return Error{Errc::bad_config, "cannot keep locks in " + where() + ": " + *fault};
}

Result<SqlStore::Rows> MysqlStore::load(const std::vector<std::string>& names,
                                        Purpose purpose,
                                        Time limit) {
  const bool to_write = purpose == Purpose::writing;
  std::vector<std::string> all{bounded_by(limit)};
  const bool asks_table = to_write && !knows_table_;
  if (asks_table) all.push_back(ask_table(table_));
  if (!to_write) all.emplace_back("set transaction isolation level repeatable read");
  all.emplace_back(to_write ? "start transaction read write" : "start transaction read only");
  const std::size_t first = all.size();
  for (const std::string& name : names) {
    all.push_back(select_lock() + " where name = " + quoted(name) +
                  (to_write ? " for update" : ""));
  }
  all.emplace_back(k_clock);
  for (const std::string& name : names) {
    if (!has_line(purpose)) break;
    all.push_back("select arrival, waiter, alive_until, who from " + line_table_ +
                  " where name = " + quoted(name) + " order by arrival");
  }
  if (has_four_columns()) {
    all.push_back(
        "select count(*) from information_schema.columns where table_schema = database() "
        "and column_name in ('token', 'version', 'state') and table_name = " +
        quoted(table_));
  }
  if (!to_write) all.emplace_back("commit");
  const auto answers = session_.run(all, limit);
  if (!answers) return answers.error();
  if (asks_table) {
    if (auto fits = trusts((*answers)[1]); !fits) return fits.error();
    knows_table_ = true;
  }
  std::vector<const sql::Table*> tables;
  for (std::size_t i = first; i < answers->size() - (to_write ? 0 : 1); ++i)
    tables.push_back(&(*answers)[i].rows);
  return rows_of(names, purpose, tables, session_.sent_at());
}

// One statement for each row: an insert that meets a row shares its lock, and two sessions that
// share a lock and then want it exclusively would wait for each other.
Result<void> MysqlStore::make_rows(const std::vector<std::string>& names, Time limit) {
  std::vector<std::string> all{"rollback"};
  for (const std::string& name : names) {
    all.push_back("insert into " + table_ + " (name, lock_until, locked_at, locked_by" +
                  (has_four_columns() ? "" : ", state") + ") values (" + quoted(name) +
                  ", utc_timestamp(), utc_timestamp(), ''" + (has_four_columns() ? ")" : ", '')") +
                  " on duplicate key update name = name");
  }
  const auto answers = session_.run(all, limit);
  if (!answers) return answers.error();
  return {};
}

std::string MysqlStore::update_of(const Write& one, Basis basis) const {
  std::string update =
      "update " + table_ + " set lock_until = " + date_of(one.columns.lock_until_us);
  if (one.columns.locked_at_us != 0) update += ", locked_at = " + date_of(one.columns.locked_at_us);
  update += ", locked_by = " + quoted(one.columns.locked_by);
  if (!has_four_columns()) {
    update += ", token = " + std::to_string(one.token) +
              ", version = version + 1, state = " + quoted(one.state);
  }
  update += " where name = " + quoted(one.name);
  if (!has_four_columns()) update += " and version = " + std::to_string(one.before->version);
  if (has_four_columns() || basis == Basis::remembered)
    update += " and locked_by = " + quoted(one.before->columns.locked_by);
  if (basis == Basis::remembered) {
    update += " and state = " + quoted(*one.before->state) + " and not exists (select 1 from " +
              line_table_ + " where name = " + quoted(one.name) + ")";
  }
  return update;
}

void MysqlStore::add_line(std::vector<std::string>& all, const Write& one) const {
  for (const lease_table::Place* place : one.line.gone) {
    all.push_back("delete from " + line_table_ + " where name = " + quoted(one.name) +
                  " and arrival = " + std::to_string(place->arrival_us));
  }
  for (const lease_table::Place* place : one.line.written) {
    all.push_back("replace into " + line_table_ +
                  " (name, arrival, waiter, alive_until, who) values (" + quoted(one.name) + ", " +
                  std::to_string(place->arrival_us) + ", " + quoted(place->id) + ", " +
                  us_of(place->alive_until) + ", " + quoted(waiter_json(place->waiter)) + ")");
  }
}

Result<bool> MysqlStore::write(const std::vector<Write>& writes,
                               const std::vector<std::string>& /*wakes*/,
                               Basis basis,
                               Time limit) {
  const bool has_line_writes = std::any_of(writes.begin(), writes.end(), [](const Write& one) {
    return !one.line.written.empty() || !one.line.gone.empty();
  });
  if (has_line_writes && !knows_line_table_) {
    const auto answers = session_.run({ask_table(line_table_)}, limit);
    if (!answers) return answers.error();
    if (auto fits = trusts(answers->front()); !fits) return fits.error();
    knows_line_table_ = true;
  }
  std::vector<std::string> all;
  if (basis == Basis::remembered) {
    // The row before the line, as each step locks them: else two would wait for each other.
    all = {bounded_by(limit), "start transaction read write"};
    for (const Write& one : writes)
      all.push_back("select 1 from " + table_ + " where name = " + quoted(one.name) +
                    " for update");
  }
  std::vector<std::size_t> updates;
  for (const Write& one : writes) {
    if (one.lock) {
      updates.push_back(all.size());
      all.push_back(update_of(one, basis));
    }
    add_line(all, one);
  }
  all.emplace_back(all.empty() ? "rollback" : "commit");
  const auto answers = session_.run(all, limit);
  if (!answers) return answers.error();
  return std::all_of(
      updates.begin(), updates.end(), [&](std::size_t i) { return (*answers)[i].affected == 1; });
}

Result<void> MysqlStore::make_tables(Time limit) {
  const auto answers = session_.run(tables(table_), limit);
  if (answers) return {};
  return Error{answers.error().code,
               "cannot make the table " + table_ + ": " + answers.error().text};
}

Result<SqlStore::Rows> MysqlStore::load_behind(const std::string& name, Time limit) {
  const std::string page = select_lock() + " where name > " + quoted(name) +
                           " order by name limit " + std::to_string(k_page);
  const auto answers = session_.run({k_clock, page}, limit);
  if (!answers) return answers.error();
  return all_rows_of(answers->front().rows, answers->back().rows, session_.sent_at());
}

Result<SqlStore::Rows> MysqlStore::load_clock(Time limit) {
  const auto answers = session_.run({k_clock}, limit);
  if (!answers) return answers.error();
  return all_rows_of(answers->front().rows, {}, session_.sent_at());
}

Result<void> MysqlStore::watch_rows(const std::vector<LockName>& /*names*/,
                                    const std::vector<std::string>& /*ids*/,
                                    Time /*limit*/) {
  watched_since_ = BootClock::now();
  return {};
}

Result<bool> MysqlStore::await_change(Time until) {
  return nothing_.wait([](std::string_view) { return false; }, until, interrupt_);
}

std::optional<Duration> MysqlStore::looks_every(Watcher who, std::uint64_t place) const {
  if (who == Watcher::holder) return 2s;
  const Duration most = who == Watcher::waiter && place <= 2 ? Duration(50ms) : Duration(250ms);
  // An eighth of the time waited so far: short holds are over soon.
  return std::clamp<Duration>((BootClock::now() - watched_since_) / 8, 5ms, most);
}

}  // namespace dlock
