// SPDX-License-Identifier: MIT
#include "store/postgres/postgres_store.hpp"

#include "base/calendar.hpp"
#include "store/sql/channel.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace dlock {

namespace {

// A statement that reads the server's clock. A time is read as its eight bytes, because SQL needs
// seven functions and operators to turn it into a number, and a new server process looks up each of
// them in its catalogue. The second column is the number of the process that answers; note_clock()
// needs it.
constexpr const char* k_clock =
    "select pg_catalog.encode(pg_catalog.timestamptz_send(pg_catalog.clock_timestamp()), 'hex'), "
    "pg_catalog.pg_backend_pid()";

constexpr const char* k_begin = "begin isolation level read committed read write";

sql::Statement wake(const std::string& id) {
  return {"select pg_catalog.pg_notify($1, '')", {sql::channel_of(id)}};
}

// Returns the statement that limits a transaction: no statement lasts longer than until the limit,
// and if dlock is stopped, the transaction does not stay open longer than that.
sql::Statement bounded_by(Time limit) {
  const std::string ms = std::to_string(statement_timeout_ms(limit, BootClock::now()));
  return {
      "select pg_catalog.set_config('statement_timeout', $1, true), "
      "pg_catalog.set_config('idle_in_transaction_session_timeout', $1, true)",
      {ms}};
}

// Returns an expression that reads the column as a time without a time zone, whatever the column's
// type is, as ShedLock reads and writes it.
std::string select_time(const std::string& column) {
  return "pg_catalog.encode(pg_catalog.timestamp_send(" + column + "::timestamp), 'hex')";
}

// Returns the time in the value, in µs since 1970. A time before 1970 or after 2259 becomes the
// nearest time in between: a user of ShedLock may have written "infinity".
std::optional<std::int64_t> us_in(const sql::Value& value) {
  // PostgreSQL counts from the year 2000.
  constexpr std::int64_t us_until_2000 = 946'684'800'000'000;
  constexpr std::int64_t us_until_2259 = 9'119'952'000'000'000;
  std::uint64_t bits = 0;
  const char* const end = value ? value->data() + value->size() : nullptr;
  if (!value || value->size() != 16 || std::from_chars(value->data(), end, bits, 16).ptr != end)
    return std::nullopt;
  const auto since_2000 = static_cast<std::int64_t>(bits);
  return std::clamp(since_2000, -us_until_2000, us_until_2259 - us_until_2000) + us_until_2000;
}

std::string time_of(std::int64_t us) {
  return "'" + date_text(us) + "'::timestamp";
}

// The SQL for PostgreSQL. It names the schema pg_catalog everywhere. Otherwise a function or
// operator that another user has created in a schema of the search path could fit better, and it
// would run with the rights of this user.
constexpr sql::Dialect k_dialect{
    .tables = &PostgresStore::tables,
    .state_column = "text not null default ''",
    .own_columns =
        "select count(*) from pg_catalog.pg_attribute where attrelid = "
        "pg_catalog.to_regclass($1)::oid and attname in ('token', 'version', 'state') "
        "and not attisdropped",
    .clock = k_clock,
    .now = "pg_catalog.timezone('utc', pg_catalog.now())",
    .time_of = &time_of,
    .select_time = &select_time,
    .us_in = &us_in,
    // Only a TIMESTAMP without a time zone can keep the times. Java drivers set the time zone of
    // their session, which changes the times in columns of other types.
    .unfit =
        "case pg_catalog.pg_typeof(lock_until)::text when 'timestamp without time zone' then '' "
        "else pg_catalog.pg_typeof(lock_until)::text end",
    .equals = " operator(pg_catalog.=) ",
    .is_greater = " operator(pg_catalog.>) ",
    .locks_rows = " for update",
    .keeps_row = " on conflict (name) do nothing",
    .put = "insert",
    .put_end =
        " on conflict (name, arrival) do update set waiter = excluded.waiter, "
        "alive_until = excluded.alive_until, who = excluded.who",
    .wake = &wake,
};

}  // namespace

PostgresStore::PostgresStore(PgAddress address, const StoreOptions& options)
    : SqlStore(k_dialect, address.table),
      tables_(address.table),
      session_(std::move(address), options.tls, options.interrupt) {}

Result<PgAddress> PostgresStore::address_of(const StoreOptions& options) {
  auto address = parse_pg_url(options.url);
  if (address && address->password.empty()) address->password = options.password;
  return address;
}

Result<std::unique_ptr<LockStore>> PostgresStore::open(const PgAddress& address,
                                                       const StoreOptions& options) {
  for (const PgServer& server : address.servers) {
    if (auto tls = tls_of(address, server, options.tls); !tls) return tls.error();
  }
  return std::unique_ptr<LockStore>(new PostgresStore(address, options));
}

std::vector<std::string> PostgresStore::tables(const std::string& table) {
  return {"create table if not exists " + table +
              " (name varchar(512) collate \"C\" primary key, lock_until timestamp(6) not null, "
              "locked_at timestamp(6) not null, locked_by varchar(255) not null, "
              "token bigint not null default 0, version bigint not null default 0, "
              "state text not null default '')",
          "create table if not exists " + table +
              "_line (name varchar(512) collate \"C\" not null, arrival bigint not null, "
              "waiter text not null, alive_until bigint not null, who text not null, "
              "primary key (name, arrival))"};
}

// Runs the statements in one message and returns their answers. If they do not continue a
// transaction, a statement that sets the transaction's timeouts is sent before them. Until the
// tables are known, that statement also refuses tables that cannot be trusted (PgTables::guard()).
Result<std::vector<sql::Answer>> PostgresStore::run(const std::vector<sql::Statement>& statements,
                                                    Scope scope,
                                                    Uses uses,
                                                    Time limit) {
  std::vector<sql::Statement> all;
  if (scope == Scope::alone && session_.in_transaction()) all.push_back({"rollback"});
  if (scope == Scope::begins) all.push_back({k_begin});
  if (scope == Scope::reads) all.push_back({"begin isolation level repeatable read read only"});
  const std::size_t bound = all.size();
  if (scope != Scope::continues) all.push_back(bounded_by(limit));
  const auto first = static_cast<std::ptrdiff_t>(all.size());
  all.insert(all.end(), statements.begin(), statements.end());
  if (scope == Scope::reads) all.push_back({"commit"});
  const bool has_line = uses == Uses::locks_and_line;
  const bool guards =
      scope != Scope::continues && uses != Uses::no_table && !tables_.are_known(has_line);
  auto answers = guards ? run_guarded(all, bound, has_line, limit) : session_.run(all, limit);
  if (!answers) return answers;
  answers->erase(answers->begin(), answers->begin() + first);
  answers->resize(statements.size());
  for (std::size_t i = 0; i < statements.size(); ++i)
    if (statements[i].text == k_clock) note_clock((*answers)[i]);
  return answers;
}

Result<std::vector<sql::Answer>> PostgresStore::run_guarded(std::vector<sql::Statement>& all,
                                                            std::size_t bound,
                                                            bool has_line,
                                                            Time limit) {
  const std::string ms = *all[bound].parameters.front();
  for (const bool in_full : {false, true}) {
    all[bound] = tables_.guard(ms, has_line, in_full);
    auto answers = session_.run(all, limit);
    if (answers) tables_.learn((*answers)[bound]);
    if (answers) call_tables(tables_.locks(), tables_.line());
    if (answers || !PgTables::is_refusal(session_.failure().sqlstate)) return answers;
  }
  const auto why = session_.run({tables_.ask_why()}, limit);
  if (!why) return why.error();
  const std::string fault = PgTables::fault_in(why->front()).value_or("its tables are changing");
  return Error{Errc::bad_config, "cannot keep locks in " + where() + ": " + fault};
}

// Notes whether there is a pooler: then the server process that answers is not that of the login.
void PostgresStore::note_clock(const sql::Answer& clock) {
  is_pooled_ =
      clock.rows.empty() || sql::number_at(clock.rows.front(), 1) != session_.backend_pid();
}

// Subscribes to our channels. Returns Errc::refused if there is a pooler: our server process may
// serve another client next and keep the subscriptions, and the pooler drops notifications. The
// connection stays open even then. A pooler may give each client a server process for the whole
// connection; if we closed ours, a waiter could get it, and the holder could then not renew.
Result<void> PostgresStore::listen(Time limit) {
  const auto refusal = [this] {
    return Error{Errc::refused, "no LISTEN through the pooler at " + where() + ", polling"};
  };
  if (is_pooled_) return refusal();
  std::vector<sql::Statement> all;
  for (const std::string& channel : channels_)
    all.push_back({"listen " + channel});
  all.push_back({k_clock});
  const auto answers = session_.run(all, limit);
  if (!answers) return answers.error();
  note_clock(answers->back());  // the session may have made a new connection
  if (is_pooled_) return refusal();
  listener_ = session_.backend_pid();
  return {};
}

Result<void> PostgresStore::watch_rows(const std::vector<LockName>& /*names*/,
                                       const std::vector<std::string>& ids,
                                       Time limit) {
  channels_.clear();
  for (const std::string& id : ids)
    channels_.push_back(sql::channel_of(id));
  return listen(limit);
}

Result<bool> PostgresStore::await_change(Time until) {
  if (channels_.empty() || session_.backend_pid() != listener_ || !session_.connected()) {
    // Another call has made a new connection. Notifications that came before this call has
    // subscribed again are lost, so the caller must look.
    if (auto listening = listen(until); !listening) return listening.error();
    return true;
  }
  auto told = session_.await_notification(until);
  (void)session_.take_notifications();
  return told;
}

// Returns how often a watcher must ask the store. Only a bystander, which waits but is in no line
// (`dlock wait`), must ask: it gets no notifications.
std::optional<Duration> PostgresStore::looks_every(Watcher who, std::uint64_t /*place*/) const {
  if (who != Watcher::bystander) return std::nullopt;
  return std::chrono::seconds(1);
}

}  // namespace dlock
