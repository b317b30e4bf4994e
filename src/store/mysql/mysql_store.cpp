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

// Returns a statement that limits the next transaction. No wait for a row lasts longer than until
// the limit, rounded up to seconds. On MariaDB this also holds for each statement and for an idle
// transaction.
sql::Statement bounded_by(Time limit) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(limit - BootClock::now());
  const std::string seconds = std::to_string(std::max<long long>(1, left.count()));
  return {"set session innodb_lock_wait_timeout = " + seconds +
          " /*M! , idle_transaction_timeout = " + seconds + ", max_statement_time = " + seconds +
          " */"};
}

std::string time_of(std::int64_t us) {
  return "date_add('1970-01-01', interval " + std::to_string(us) + " microsecond)";
}

// Returns an expression that reads the time in a column, in µs since 1970. If the column is a
// TIMESTAMP, it must have been written in a session with the same time zone.
std::string select_time(const std::string& column) {
  return "timestampdiff(microsecond, '1970-01-01', " + column + ")";
}

// How often waiters look while they wait for a bell: the first two in line, and the others. Each
// must see a turn that begins without a ring of that bell, and a turn lasts a second: the line
// moves on by more than one place, several slots or names are wanted, or the one before stands
// still.
constexpr Duration k_look = 300ms;
constexpr Duration k_look_behind = 600ms;
// The answer of a server that has waited for a bell as long as it should, and then looked, may come
// this late.
constexpr Duration k_late_answer = 2s;

constexpr sql::Dialect k_dialect{
    .tables = &MysqlStore::tables,
    .state_column = "mediumtext not null default ('')",
    .state_has_default = false,
    .own_columns =
        "select count(*) from information_schema.columns where table_schema = database() "
        "and column_name in ('token', 'version', 'state') and table_name = $1",
    // utc_timestamp() is the time at which its own statement starts. The statements before it have
    // locked the rows by then.
    .clock = "select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))",
    .now = "utc_timestamp()",
    .time_of = &time_of,
    .select_time = &select_time,
    .us_in = &sql::number_in,
    .unfit = "''",
    .equals = " = ",
    .is_greater = " > ",
    .locks_rows = " for update",
    .keeps_row = " on duplicate key update name = name",
    .put = "replace",
    .put_end = "",
};

}  // namespace

MysqlStore::MysqlStore(MyAddress address, const Interrupt* interrupt)
    : SqlStore(k_dialect, address.table),
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

// Returns the statements that create the tables. Names are stored as bytes, because a comparison of
// texts would ignore spaces at the end.
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

// Returns an error (Errc::bad_config) if table_fault() finds a fault in the table. The connection
// is then closed, which rolls back the transaction.
Result<void> MysqlStore::trusts(const sql::Answer& table) {
  const auto fault = table_fault(table);
  if (!fault) return {};
  session_.disconnect();
  return Error{Errc::bad_config, "cannot keep locks in " + where() + ": " + *fault};
}

Result<std::vector<sql::Answer>> MysqlStore::run(const std::vector<sql::Statement>& statements,
                                                 Scope scope,
                                                 Uses uses,
                                                 Time limit) {
  // The table of lines is examined before it is first written to. Such a write always comes in a
  // transaction that has already read the line.
  const bool writes_line = scope == Scope::continues && uses == Uses::locks_and_line;
  if (writes_line && !knows_line_) {
    const auto answers = session_.run({ask_table(say().line())}, limit);
    if (!answers) return answers.error();
    if (auto fits = trusts(answers->front()); !fits) return fits.error();
    knows_line_ = true;
  }
  const bool asks_table = scope == Scope::begins && !knows_locks_;
  // From the second transaction on, the table of lines is examined with the message that reads the
  // line, because a write to it may follow. A fault is an error only before such a write (above).
  const bool asks_line =
      scope == Scope::begins && uses == Uses::locks_and_line && !knows_line_ && knows_locks_;
  std::vector<sql::Statement> all;
  if (scope == Scope::alone && session_.in_transaction()) all.push_back({"rollback"});
  if (scope == Scope::begins || scope == Scope::reads) all.push_back(bounded_by(limit));
  // Outside of the transaction, so that a server which refuses it has done nothing.
  auto take_bell = scope == Scope::begins ? bell_.take(session_) : std::nullopt;
  const bool takes_bell = take_bell.has_value();
  // The wait comes before the transaction, so the look reads the rows as they are after the wait.
  const auto wait = scope == Scope::reads ? std::exchange(wait_, std::nullopt) : std::nullopt;
  const std::size_t taken = all.size();
  if (takes_bell) all.push_back(std::move(*take_bell));
  if (wait) all.push_back(MyBell::await(wait->predecessor, wait->until - BootClock::now()));
  const std::size_t asked = all.size();
  if (asks_table) all.push_back(ask_table(say().locks()));
  if (asks_line) all.push_back(ask_table(say().line()));
  if (scope == Scope::begins) all.push_back({"start transaction read write"});
  if (scope == Scope::reads) {
    all.push_back({"set transaction isolation level repeatable read"});
    all.push_back({"start transaction read only"});
  }
  const auto first = static_cast<std::ptrdiff_t>(all.size());
  all.insert(all.end(), statements.begin(), statements.end());
  if (scope == Scope::reads) all.push_back({"commit"});
  auto answers = session_.run(all, limit);
  if (!answers && takes_bell && MyBell::is_refusal(session_.server_errno())) {
    bell_.give_up();
    return run(statements, scope, uses, limit);
  }
  if (!answers) return answers;
  if (takes_bell) bell_.taken((*answers)[taken], session_);
  if (wait) bell_.waited((*answers)[taken], wait->predecessor);
  if (asks_table) {
    if (auto fits = trusts((*answers)[asked]); !fits) return fits.error();
    knows_locks_ = true;
  }
  if (asks_line) knows_line_ = !table_fault((*answers)[asked]);
  answers->erase(answers->begin(), answers->begin() + first);
  answers->resize(statements.size());
  return answers;
}

Result<void> MysqlStore::watch_rows(const std::vector<LockName>& names,
                                    const std::vector<std::string>& /*ids*/,
                                    Time /*limit*/) {
  watched_ = names;
  watched_since_ = BootClock::now();
  return {};
}

void MysqlStore::prepare(const Occasion& occasion) {
  if (occasion.claim != nullptr) bell_.belongs_to(waiter_id(*occasion.claim));
}

Result<bool> MysqlStore::await_change(Time until) {
  return nothing_.wait([](std::string_view) { return false; }, until, interrupt_);
}

// Waits and looks with one message, so that a waiter at rest sends half as many, and one that is
// woken knows at once whether it has its turn.
Result<bool> MysqlStore::await_and_look(Time until, const Look& look) {
  const std::string before = predecessor();
  if (!bell_.can_wait_for(before)) return await_change(until);
  wait_ = Wait{.predecessor = before, .until = until};
  const auto done = read(watched_, until + k_late_answer, look);
  if (done) return true;
  if (!MyBell::is_refusal(session_.server_errno())) return done.error();
  bell_.give_up();
  return false;
}

std::optional<Duration> MysqlStore::looks_every(Watcher who, std::uint64_t place) const {
  if (who == Watcher::holder) return 2s;
  if (who == Watcher::waiter && bell_.can_wait_for(predecessor()))
    return place <= 2 ? k_look : k_look_behind;
  const Duration most = who == Watcher::waiter && place <= 2 ? Duration(50ms) : Duration(250ms);
  // The pause is an eighth of the time waited so far: a lock that was just taken may be released
  // soon.
  return std::clamp<Duration>((BootClock::now() - watched_since_) / 8, 5ms, most);
}

}  // namespace dlock
