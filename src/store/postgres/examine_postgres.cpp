// SPDX-License-Identifier: MIT
#include "store/postgres/examine_postgres.hpp"

#include "store/doctor/trial.hpp"
#include "store/postgres/pg_session.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/sql/sql_findings.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace dlock {

namespace {

using Row = std::vector<sql::Value>;

constexpr long long k_oldest = 120000;

// Every user may read these facts. Of the replicas, a user without further rights can see only how
// many there are.
constexpr const char* k_facts =
    "select current_setting('server_version'), current_setting('server_version_num'), "
    "pg_is_in_recovery(), current_setting('default_transaction_read_only'), "
    "current_setting('synchronous_commit'), current_setting('fsync'), "
    "(select count(*) from pg_stat_replication where state is distinct from 'backup'), "
    "current_setting('synchronous_standby_names'), pg_backend_pid(), "
    "(select sum(numbackends) from pg_stat_database), current_setting('max_connections'), "
    "to_regclass($1) is not null, to_regclass($2) is not null, exists (select from pg_attribute "
    "where attrelid = to_regclass($1)::oid and attname = 'state' and not attisdropped)";
enum Column {  // the columns of k_facts
  version,
  version_number,
  in_recovery,
  read_only,
  synchronous_commit,
  fsync,
  replicas,
  synchronous_names,
  process,
  used_connections,
  max_connections,
  has_locks,
  has_line,
  has_state,
};

std::string text_at(const Row& row, Column column) {
  return column < row.size() ? row[column].value_or("") : std::string();
}
long long number_at(const Row& row, Column column) {
  return std::strtoll(text_at(row, column).c_str(), nullptr, 10);
}

Finding judge_version(const Row& row) {
  const std::string seen = "PostgreSQL " + text_at(row, version);
  if (number_at(row, version_number) >= k_oldest) return info(seen);
  return broken(seen, "dlock needs PostgreSQL 12 or newer", "upgrade the server");
}

Finding judge_writable(const Row& row) {
  if (text_at(row, in_recovery) == "t") {
    return broken("the server is a replica: it is in recovery",
                  "locks cannot be written there",
                  "let the URL name the primary, or all servers of the set");
  }
  if (text_at(row, read_only) == "off") return good("the server accepts writes");
  return broken("default_transaction_read_only is on",
                "locks cannot be written there",
                "turn it off for this user: alter role … set default_transaction_read_only = off");
}

Finding judge_durable(const Row& row) {
  const char* const forgets = "a crash of the server forgets locks that were granted";
  for (const auto& [column, name] :
       {std::pair(fsync, "fsync"), std::pair(synchronous_commit, "synchronous_commit")}) {
    if (text_at(row, column) == "off") {
      return warning(std::string(name) + " is off", forgets, std::string("set ") + name + " = on");
    }
  }
  return good("a grant is on disk before it is answered");
}

Finding judge_replication(const Row& row) {
  const long long count = number_at(row, replicas);
  const std::string seen = std::to_string(count) + (count == 1 ? " replica" : " replicas");
  const std::string commit = text_at(row, synchronous_commit);
  if (count == 0) return good("no replica");
  if (text_at(row, synchronous_names).empty() || commit == "off" || commit == "local") {
    return warning(seen + ", and a commit waits for none",
                   "a failover may lose the newest grants: two commands could then run",
                   "name them in synchronous_standby_names, with synchronous_commit = on");
  }
  return good(seen + ", and a commit waits for " + text_at(row, synchronous_names));
}

Finding judge_pooler(const Row& row, int backend) {
  if (number_at(row, process) == backend) return good("no pooler");
  return info(
      "there is a pooler",
      "no LISTEN through it: waiters look for their turn instead; one that gives whole sessions "
      "needs a connection for each holder and each waiter");
}

// Asks for what identifies the store. This is asked after a lock was tried, because that creates
// the table. Some users may not read the id of the database cluster.
constexpr const char* k_identity =
    "select (select system_identifier::text from pg_control_system()), (select oid::text from "
    "pg_database where datname = current_database()), (select oid::text from pg_class where oid = "
    "to_regclass($1)::oid)";

Identity identity_of(PgSession& session, const std::string& table, Time until) {
  const auto answers = session.run({{k_identity, {table}}}, until);
  if (!answers) return {.unseen = answers.error().text};
  if (answers->front().rows.empty() || answers->front().rows.front().size() < 3)
    return {.unseen = "no answer"};
  const Row& row = answers->front().rows.front();
  Identity identity{.unseen = ""};
  identity.add("system", row[0].value_or(""), "the server does not tell its system_identifier");
  identity.add("database", row[1].value_or(""), "the database has no number");
  identity.add("table", row[2].value_or(""), "the table " + table + " is not there");
  return identity;
}

// Deletes the rows of the lock that `dlock doctor` has tried. Returns false if this user may not
// delete rows. A table that does not exist has no such row, so that is no failure.
bool remove_trial(PgSession& session, const std::string& table, const LockName& name, Time until) {
  Result<std::vector<sql::Answer>> removed = std::vector<sql::Answer>();
  for (const std::string& one : {table + "_line", table})
    removed = session.run(
        {{"delete from " + one + " where name operator(pg_catalog.=) $1", {name.text()}}}, until);
  return removed || removed.error().code != Errc::denied;
}

}  // namespace

Result<Examination> examine_postgres(const PgAddress& address,
                                     const StoreOptions& options,
                                     const ExamineTerms& terms) {
  auto store = PostgresStore::open(address, options);
  auto rival = PostgresStore::open(address, options);
  if (!store || !rival) return store ? rival.error() : store.error();
  const std::string& table = address.table;
  PgSession session(address, options.tls, options.interrupt);
  Examination all{.url = (*store)->where()};
  Findings findings(all.url);
  const Time soon = std::min(terms.until, BootClock::now() + terms.connect_timeout);
  const auto answers = session.run({{k_facts, {table, table + "_line"}}}, soon);
  if (!answers || answers->front().rows.empty()) {
    findings.add("connect", judge_connect(answers ? "no answer" : answers.error().text));
    all.servers = {{.url = all.url}};
    all.findings = findings.take();
    return all;
  }
  const Row& row = answers->front().rows.front();
  all.servers = {{.url = all.url,
                  .product = "postgresql",
                  .version = text_at(row, version),
                  .role = text_at(row, in_recovery) == "t" ? "replica" : "primary"}};
  const int backend = session.backend_pid();
  const LockName name = trial_name(terms.name);
  Trial trial;
  bool removed = true;
  {
    const Undisturbed signals(terms.calls);
    trial = try_lock(**store, **rival, name, signals, terms.until);
    removed = remove_trial(session, table, name, signals.until(terms.until));
    all.identity = identity_of(session, table, signals.until(soon));
  }
  findings.add("version", judge_version(row));
  findings.add("writable", judge_writable(row));
  const sql::TablesSeen seen{.locks = text_at(row, has_locks) == "t",
                             .line = text_at(row, has_line) == "t",
                             .has_state = text_at(row, has_state) == "t"};
  findings.add("tables", sql::judge_tables(table, seen, trial, PostgresStore::tables(table)));
  findings.add("durable", judge_durable(row));
  findings.add("replication", judge_replication(row));
  findings.add("pooler", judge_pooler(row, backend));
  findings.add(
      "connections",
      sql::judge_connections(number_at(row, used_connections), number_at(row, max_connections)));
  findings.add("trial", judge_trial(trial));
  if (!removed && !trial.failure) findings.add("row", sql::judge_left(table, name));
  findings.add("latency", measure_answers(**store, terms, all.servers.front()));
  all.findings = findings.take();
  return all;
}

}  // namespace dlock
