// SPDX-License-Identifier: MIT
#include "store/postgres/postgres_store.hpp"

#include "base/calendar.hpp"
#include "store/record_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

namespace dlock {

using lease_table::StoreTime;

namespace {

// Times are read as their eight bytes: one function each, where a number would take seven functions
// and operators, which a new process of the server looks up in its catalogue. Also reads the
// process that answers, for is_pooled_.
constexpr const char* k_clock =
    "select pg_catalog.encode(pg_catalog.timestamptz_send(pg_catalog.clock_timestamp()), 'hex'), "
    "pg_catalog.pg_backend_pid()";

constexpr const char* k_own_columns =
    "select count(*) from pg_catalog.pg_attribute where attrelid = "
    "pg_catalog.to_regclass($1)::oid and attname in ('token', 'version', 'state') "
    "and not attisdropped";

constexpr const char* k_begin = "begin isolation level read committed read write";

// With operators and functions of the catalogue: other users may have made better-fitting ones in a
// schema of the search path, which would run as this user.
constexpr const char* k_of_name = " where name operator(pg_catalog.=) $1";

// A channel has at most 63 bytes; an id has more. Two ids of one channel only wake each other.
std::string channel_of(const std::string& id) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : id) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "dlock_%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

std::int64_t to_us(StoreTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

// For this transaction: no statement outlasts the limit, and if we stop, it does not stay open.
PgStatement bounded_by(Time limit) {
  const std::string ms = std::to_string(statement_timeout_ms(limit, BootClock::now()));
  return {
      "select pg_catalog.set_config('statement_timeout', $1, true), "
      "pg_catalog.set_config('idle_in_transaction_session_timeout', $1, true)",
      {ms}};
}

// As a time without a zone, however the column is declared: that is how ShedLock reads and writes.
std::string bytes_of(const std::string& column) {
  return "pg_catalog.encode(pg_catalog.timestamp_send(" + column + "::timestamp), 'hex')";
}

// What k_clock or bytes_of() gave becomes microseconds since 1970, at most those of 2259:
// ShedLock's users may have written "infinity". Anything else becomes no number.
void to_us(PgValue& value) {
  constexpr std::int64_t us_until_2000 = 946'684'800'000'000;  // where PostgreSQL's times begin
  constexpr std::int64_t us_until_2259 = 9'119'952'000'000'000;
  std::uint64_t bits = 0;
  const char* const end = value ? value->data() + value->size() : nullptr;
  if (!value || value->size() != 16 || std::from_chars(value->data(), end, bits, 16).ptr != end) {
    value = "";
    return;
  }
  const auto since_2000 = static_cast<std::int64_t>(bits);
  value = std::to_string(std::clamp(since_2000, -us_until_2000, us_until_2259 - us_until_2000) +
                         us_until_2000);
}
void to_us(PgRows& answer, std::size_t first, std::size_t end) {
  for (auto& row : answer.rows)
    for (std::size_t i = first; i < std::min(end, row.size()); ++i)
      to_us(row[i]);
}

std::string timestamp_of(std::int64_t us) {
  const std::tm parts = utc_date(std::chrono::sys_seconds(std::chrono::seconds(us / 1'000'000)));
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  std::string fraction = std::to_string(1'000'000 + us % 1'000'000);
  fraction.front() = '.';
  return std::string("'").append(text.data()).append(fraction).append("'::timestamp");
}

}  // namespace

// Columns of the times in select_lock().
constexpr std::size_t k_first_time = 2;
constexpr std::size_t k_end_of_times = 4;

// Java drivers set the session's time zone to their own, which changes what another type of column
// means.
std::string PostgresStore::select_lock() const {
  return std::string("select name, ") + (has_four_columns() ? "''" : "state") + ", " +
         bytes_of("lock_until") + ", " + bytes_of("locked_at") + ", locked_by, " +
         (has_four_columns() ? "0" : "version") +
         ", case pg_catalog.pg_typeof(lock_until)::text when 'timestamp without time zone' then '' "
         "else pg_catalog.pg_typeof(lock_until)::text end from " +
         tables_.locks();
}

PostgresStore::PostgresStore(PgAddress address, const StoreOptions& options)
    : table_(address.table),
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

std::string PostgresStore::missing_columns() const {
  return "alter table " + table_ +
         " add column token bigint not null default 0, add column version bigint not null "
         "default 0, add column state text not null default ''";
}

SqlStore::Cause PostgresStore::cause() const {
  switch (session_.failure().cause) {
    case PgCause::repeat:
      return Cause::repeat;
    case PgCause::no_table:
      return Cause::no_table;
    case PgCause::no_column:
      return Cause::no_column;
    case PgCause::other:
      break;
  }
  return Cause::other;
}

Result<SqlStore::Rows> PostgresStore::load(const std::vector<std::string>& names,
                                           Purpose purpose,
                                           Time limit) {
  const bool to_write = purpose == Purpose::writing;
  std::vector<PgStatement> all;
  all.push_back({to_write ? k_begin : "begin isolation level repeatable read read only"});
  all.push_back(bounded_by(limit));
  const std::size_t first = all.size();
  for (const std::string& name : names)
    all.push_back({select_lock() + k_of_name + (to_write ? " for update" : ""), {name}});
  all.push_back({k_clock});
  for (const std::string& name : names) {
    if (!has_line(purpose)) break;
    all.push_back({"select arrival, waiter, alive_until, who from " + tables_.line() + k_of_name +
                       " order by arrival",
                   {name}});
  }
  if (has_four_columns()) all.push_back({k_own_columns, {tables_.locks()}});
  if (!to_write) all.push_back({"commit"});
  auto answers = run_on_tables(std::move(all), first - 1, has_line(purpose), limit);
  if (!answers) return answers.error();
  for (std::size_t i = first; i < first + names.size(); ++i)
    to_us((*answers)[i], k_first_time, k_end_of_times);
  note_clock((*answers)[first + names.size()]);
  std::vector<const sql::Table*> tables;
  for (std::size_t i = first; i < answers->size() - (to_write ? 0 : 1); ++i)
    tables.push_back(&(*answers)[i].rows);
  return rows_of(names, purpose, tables, session_.sent_at());
}

// `bound`: the statement that bounds the transaction, before any that uses a table. The first time
// it is also the guard of the tables.
Result<std::vector<PgRows>> PostgresStore::run_on_tables(std::vector<PgStatement> all,
                                                         std::size_t bound,
                                                         bool has_line,
                                                         Time limit) {
  if (tables_.are_known(has_line)) return session_.run(all, limit);
  const std::string ms = *all[bound].parameters.front();
  for (const bool in_full : {false, true}) {
    all[bound] = tables_.guard(ms, has_line, in_full);
    auto answers = session_.run(all, limit);
    if (answers) tables_.learn((*answers)[bound]);
    if (answers || !PgTables::is_refusal(session_.failure().sqlstate)) return answers;
  }
  const auto why = session_.run({tables_.ask_why()}, limit);
  if (!why) return why.error();
  const std::string fault = PgTables::fault_in(why->front()).value_or("its tables are changing");
  return Error{Errc::bad_config, "cannot keep locks in " + where() + ": " + fault};
}

Result<void> PostgresStore::make_rows(const std::vector<std::string>& names, Time limit) {
  if (const auto undone = session_.run({{"rollback"}}, limit); !undone) return undone.error();
  std::vector<PgStatement> all{{"begin"}, bounded_by(limit)};
  for (const std::string& name : names) {
    all.push_back({"insert into " + tables_.locks() +
                       " (name, lock_until, locked_at, locked_by) values ($1, "
                       "pg_catalog.timezone('utc', pg_catalog.now()), "
                       "pg_catalog.timezone('utc', pg_catalog.now()), '') "
                       "on conflict (name) do nothing",
                   {name}});
  }
  all.push_back({"commit"});
  const auto answers = session_.run(all, limit);
  if (!answers) return answers.error();
  return {};
}

void PostgresStore::add_write(std::vector<PgStatement>& all, const Write& one, Basis basis) const {
  if (one.lock) {
    const auto& columns = one.columns;
    PgStatement update{
        "update " + tables_.locks() + " set lock_until = " + timestamp_of(columns.lock_until_us),
        {one.name, columns.locked_by}};
    if (columns.locked_at_us != 0)
      update.text += ", locked_at = " + timestamp_of(columns.locked_at_us);
    update.text += ", locked_by = $2";
    if (!has_four_columns()) {
      update.text += ", token = $3, version = version + 1, state = $4";
      update.parameters.emplace_back(std::to_string(one.token));
      update.parameters.emplace_back(one.state);
    }
    update.text +=
        std::string(k_of_name) +
        (has_four_columns() ? " and locked_by operator(pg_catalog.=) $3" : " and version = $5");
    update.parameters.push_back(has_four_columns() ? one.before->columns.locked_by
                                                   : std::to_string(one.before->version));
    if (basis == Basis::remembered) {
      update.text += " and locked_by operator(pg_catalog.=) $6 and state operator(pg_catalog.=) $7";
      update.text +=
          " and not exists (select 1 from " + tables_.line() + std::string(k_of_name) + ")";
      update.parameters.push_back(one.before->columns.locked_by);
      update.parameters.push_back(one.before->state);
    }
    all.push_back(std::move(update));
  }
  for (const lease_table::Place* place : one.line.gone) {
    all.push_back({"delete from " + tables_.line() + k_of_name + " and arrival = $2",
                   {one.name, std::to_string(place->arrival_us)}});
  }
  for (const lease_table::Place* place : one.line.written) {
    all.push_back({"insert into " + tables_.line() +
                       " (name, arrival, waiter, alive_until, who) values ($1, $2, $3, $4, $5) on "
                       "conflict (name, arrival) do update set "
                       "waiter = excluded.waiter, alive_until = excluded.alive_until, "
                       "who = excluded.who",
                   {one.name,
                    std::to_string(place->arrival_us),
                    place->id,
                    std::to_string(to_us(place->alive_until)),
                    waiter_json(place->waiter)}});
  }
}

Result<bool> PostgresStore::write(const std::vector<Write>& writes,
                                  const std::vector<std::string>& wakes,
                                  Basis basis,
                                  Time limit) {
  std::vector<PgStatement> all;
  if (basis == Basis::remembered) {
    all = {{k_begin}, bounded_by(limit)};
    for (const Write& one : writes)
      all.push_back({"select 1 from " + tables_.locks() + k_of_name + " for update", {one.name}});
  }
  std::vector<std::size_t> updates;
  for (const Write& one : writes) {
    if (one.lock) updates.push_back(all.size());
    add_write(all, one, basis);
  }
  for (const std::string& id : wakes)
    all.push_back({"select pg_catalog.pg_notify($1, '')", {channel_of(id)}});
  all.push_back({all.empty() ? "rollback" : "commit"});
  const auto answers = session_.run(all, limit);
  if (!answers) return answers.error();
  return std::all_of(
      updates.begin(), updates.end(), [&](std::size_t i) { return (*answers)[i].affected == 1; });
}

Result<void> PostgresStore::make_tables(Time limit) {
  std::vector<PgStatement> all{{"begin"}, bounded_by(limit)};
  for (const std::string& text : tables(table_))
    all.push_back({text});
  all.push_back({"commit"});
  const auto answers = session_.run(all, limit);
  if (answers) return {};
  // Another process made the tables at the same time.
  const std::string& state = session_.failure().sqlstate;
  if (state == "23505" || state == "42P07" || state == "42710") return {};
  return Error{answers.error().code,
               "cannot make the table " + table_ + ": " + answers.error().text};
}

Result<SqlStore::Rows> PostgresStore::load_behind(const std::string& name, Time limit) {
  const std::string page = select_lock() +
                           " where name operator(pg_catalog.>) $1 order by name limit " +
                           std::to_string(k_page);
  auto answers = run_on_tables({bounded_by(limit), {k_clock}, {page, {name}}}, 0, false, limit);
  if (!answers) return answers.error();
  note_clock((*answers)[1]);
  to_us((*answers)[2], k_first_time, k_end_of_times);
  return all_rows_of((*answers)[1].rows, (*answers)[2].rows, session_.sent_at());
}

Result<SqlStore::Rows> PostgresStore::load_clock(Time limit) {
  auto answers = session_.run({{k_clock}}, limit);
  if (!answers) return answers.error();
  note_clock(answers->front());
  return all_rows_of(answers->front().rows, {}, session_.sent_at());
}

// Behind a pooler the process that serves us is not the one of the login.
void PostgresStore::note_clock(PgRows& clock) {
  to_us(clock, 0, 1);
  is_pooled_ =
      clock.rows.empty() || sql::number_at(clock.rows.front(), 1) != session_.backend_pid();
}

// Its process may serve others next: its subscriptions would stay with them, and the pooler drops
// its notifications. The connection stays, as the lease's: in a pool of whole sessions its place
// would go to a waiter, and the holder could not renew.
Result<void> PostgresStore::listen(Time limit) {
  const auto refusal = [this] {
    return Error{Errc::refused, "no LISTEN through the pooler at " + where() + ", polling"};
  };
  if (is_pooled_) return refusal();
  std::vector<PgStatement> all;
  for (const std::string& channel : channels_)
    all.push_back({"listen " + channel});
  all.push_back({k_clock});
  auto answers = session_.run(all, limit);
  if (!answers) return answers.error();
  note_clock(answers->back());  // of a new connection
  if (is_pooled_) return refusal();
  listener_ = session_.backend_pid();
  return {};
}

Result<void> PostgresStore::watch_rows(const std::vector<LockName>& /*names*/,
                                       const std::vector<std::string>& ids,
                                       Time limit) {
  channels_.clear();
  for (const std::string& id : ids)
    channels_.push_back(channel_of(id));
  return listen(limit);
}

Result<bool> PostgresStore::await_change(Time until) {
  if (channels_.empty() || session_.backend_pid() != listener_ || !session_.connected()) {
    // Another call has made a new connection: notifications in between are lost.
    if (auto listening = listen(until); !listening) return listening.error();
    return true;
  }
  auto told = session_.await_notification(until);
  (void)session_.take_notifications();
  return told;
}

// A bystander gets no notifications.
std::optional<Duration> PostgresStore::looks_every(Watcher who, std::uint64_t /*place*/) const {
  if (who != Watcher::bystander) return std::nullopt;
  return std::chrono::seconds(1);
}

}  // namespace dlock
