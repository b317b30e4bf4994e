// SPDX-License-Identifier: MIT
#include "store/postgres/pg_peer_lock.hpp"

#include <utility>

namespace dlock {

namespace {

// A statement that lifts the server's time limits for a transaction. It names only limits that this
// version of the server has.
constexpr const char* k_unbounded =
    "select pg_catalog.set_config(name, '0', true) from pg_catalog.pg_settings where name in "
    "('idle_in_transaction_session_timeout', 'transaction_timeout')";
// The last statement that take() sends. It must not be a query: the snapshot of a query would last
// as long as the transaction, and would keep VACUUM from removing rows.
constexpr const char* k_end = "set local statement_timeout = 0";

std::string value_of(const sql::Answer& answer) {
  return answer.rows.empty() || answer.rows[0].empty() ? "" : answer.rows[0][0].value_or("");
}

}  // namespace

PgPeerLock::PgPeerLock(const PgAddress& address, const StoreOptions& options)
    : SessionPeerLock(*address.with, address, options.tls, options.interrupt) {}

std::unique_ptr<PeerLock> PgPeerLock::open(const PgAddress& address, const StoreOptions& options) {
  if (!address.with) return nullptr;
  return std::unique_ptr<PeerLock>(new PgPeerLock(address, options));
}

std::string PgPeerLock::kind() const {
  return is_row() ? "row lock" : "advisory lock";
}

// Returns the statement that takes one lock without waiting. It says SKIP LOCKED and not NOWAIT,
// which fails if the row is locked: an error would end the transaction, in which take() still has
// to ask who holds the lock.
sql::Statement PgPeerLock::take_one(const LockName& name) const {
  if (is_row()) {
    return {"select 1 from " + with().table + " where " + with().column +
                " operator(pg_catalog.=) $1 for update skip locked",
            {name.text()}};
  }
  if (with().key)
    return {"select pg_catalog.pg_try_advisory_xact_lock($1::bigint)",
            {std::to_string(*with().key)}};
  return {"select pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))",
          {name.text()}};
}

sql::Statement PgPeerLock::count_of(const LockName& name) const {
  if (!is_row()) return {"select 1"};
  return {
      "select 1 from " + with().table + " where " + with().column + " operator(pg_catalog.=) $1",
      {name.text()}};
}

sql::Statement PgPeerLock::holder_of(const LockName& name) const {
  if (is_row()) {
    return {"select pg_catalog.min(l.pid) from " + with().table +
                " t join pg_catalog.pg_locks l on l.locktype = 'transactionid' and l.granted and "
                "l.transactionid = t.xmax where t." +
                with().column + " operator(pg_catalog.=) $1",
            {name.text()}};
  }
  const std::string key = with().key ? "$1::bigint" : "pg_catalog.hashtextextended($1, 0)";
  return {
      "select pg_catalog.min(pid) from pg_catalog.pg_locks where locktype = 'advisory' and "
      "objsubid = 1 and granted "
      "and database = (select oid from pg_catalog.pg_database where datname = current_database()) "
      "and (classid::bigint << 32) | objid::bigint = " +
          key + " and pid <> pg_backend_pid()",
      {with().key ? std::to_string(*with().key) : name.text()}};
}

Result<PeerLock::Taken> PgPeerLock::take(const std::vector<LockName>& names, Time limit) {
  const long long left = statement_timeout_ms(limit, BootClock::now());
  std::vector<sql::Statement> all{
      {"begin isolation level read committed read write"},
      {"select pg_catalog.set_config('statement_timeout', $1, true)", {std::to_string(left)}}};
  const std::size_t first = all.size();
  for (const LockName& name : names) {
    all.push_back(take_one(name));
    all.push_back(count_of(name));
  }
  all.push_back({k_unbounded});
  all.push_back({k_end});
  const auto answers = session().run(all, limit);
  if (!answers) return refused(answers.error(), session().failure().cause);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const sql::Answer& taken = (*answers)[first + 2 * i];
    const std::size_t wanted = (*answers)[first + 2 * i + 1].rows.size();
    const bool done = is_row() ? wanted > 0 && taken.rows.size() == wanted : value_of(taken) == "t";
    if (done) continue;
    Blocked blocked{.which = i};
    const auto holder = session().run({holder_of(names[i]), {"rollback"}}, limit);
    if (!holder) session().disconnect();
    if (wanted == 0) return no_row(with(), session().where(), names[i].text());
    if (holder) blocked.by = value_of(holder->front());
    return Taken(std::move(blocked));
  }
  return Taken();
}

}  // namespace dlock
