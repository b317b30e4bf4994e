// SPDX-License-Identifier: MIT
#include "store/mysql/examine_mysql.hpp"

#include "store/doctor/trial.hpp"
#include "store/mysql/my_session.hpp"
#include "store/mysql/mysql_store.hpp"
#include "store/sql/sql_findings.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dlock {

namespace {

// The server's variables and counters by name, in lower case. A name is missing if this kind of
// server does not have it.
using Facts = std::map<std::string, std::string>;

std::string text_of(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? std::string() : found->second;
}
long long number_of(const Facts& facts, const std::string& name) {
  return std::strtoll(text_of(facts, name).c_str(), nullptr, 10);
}
bool is_there(const Facts& facts, const std::string& name) {
  return number_of(facts, name) > 0;
}
bool is_on(const Facts& facts, const std::string& name) {
  return text_of(facts, name) == "ON";
}

// Returns the first two numbers of a version: 10 and 11 for "10.11.6-MariaDB-log".
std::pair<long, long> numbers_of(const std::string& version) {
  char* rest = nullptr;
  const long major = std::strtol(version.c_str(), &rest, 10);
  return {major, *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0};
}

Finding judge_version(const Facts& facts, bool mariadb) {
  const std::string version = text_of(facts, "version");
  const std::string seen = std::string(mariadb ? "MariaDB " : "MySQL ") + version;
  if (numbers_of(version) >= (mariadb ? std::pair(10L, 6L) : std::pair(8L, 0L))) return info(seen);
  return broken(seen, "dlock needs MariaDB 10.6, MySQL 8.0 or newer", "upgrade the server");
}

// Judges whether the server and this session may write. The variable tx_read_only is MariaDB's name
// for transaction_read_only.
Finding judge_writable(const Facts& facts) {
  for (const char* const name : {"innodb_read_only",
                                 "super_read_only",
                                 "read_only",
                                 "transaction_read_only",
                                 "tx_read_only"}) {
    const std::string value = text_of(facts, name);
    // Since MariaDB 12, read_only has three values that all mean "on".
    if (value.empty() || value == "OFF" || value == "0") continue;
    return broken(std::string(name) + " is " + value,
                  "locks cannot be written there",
                  "let the URL name the server that takes the writes");
  }
  return good("the server accepts writes");
}

Finding judge_durable(const Facts& facts) {
  const std::string flush = text_of(facts, "innodb_flush_log_at_trx_commit");
  if (flush.empty()) return not_seen("the server does not tell innodb_flush_log_at_trx_commit");
  if (flush == "1") return good("a grant is on disk before it is answered");
  return warning("innodb_flush_log_at_trx_commit is " + flush,
                 "a crash of the server forgets locks that were granted",
                 "set innodb_flush_log_at_trx_commit = 1");
}

Finding judge_replication(const Facts& facts) {
  if (is_on(facts, "wsrep_on")) {
    return warning("the server is a node of a Galera cluster",
                   "row locks are local to a node: claims at two nodes meet in conflicts",
                   "let all runs use one node, and the same one");
  }
  const long long count = number_of(facts, "slaves_connected");
  const std::string seen = std::to_string(count) + (count == 1 ? " replica" : " replicas");
  if (count == 0) return good("no Galera cluster");
  if (is_on(facts, "rpl_semi_sync_master_status")) return good(seen + ", semi-synchronous");
  return warning(seen + ", and a commit waits for none",
                 "a failover may lose the newest grants: two commands could then run",
                 "set rpl_semi_sync_master_enabled = ON, and the same at the replicas");
}

Finding judge_engine(const Facts& facts, const std::string& table) {
  const std::string engine = text_of(facts, "engine");
  const std::string seen = "the engine of " + table + " is " + engine;
  if (engine == "InnoDB") return good(seen);
  if (engine.empty()) return not_seen("there is no table " + table + " with an engine");
  return broken(
      seen, "it locks no rows, so claims are refused", "alter table " + table + " engine = InnoDB");
}

// Judges whether one of dlock's tables has a trigger. MariaDB shows triggers to users who may write
// to the table, MySQL only to users who have the right TRIGGER.
Finding judge_triggers(const Facts& facts) {
  const std::string trigger = text_of(facts, "trigger");
  if (trigger.empty()) return good("this user sees no trigger");
  const std::string seen = "the table " + text_of(facts, "trigger_of") + " has the trigger ";
  return broken(
      seen + trigger, "it could change a lock, so claims are refused", "drop trigger " + trigger);
}

Finding judge_collation(const Facts& facts, const std::string& table) {
  const std::string collation = text_of(facts, "name_collation");
  if (collation.empty() || collation.ends_with("_bin")) return good("names are compared as bytes");
  return warning("the collation of " + table + ".name is " + collation,
                 "of two names that are equal for it, as Job and JOB may be, one is refused",
                 "alter table " + table + " modify name varchar(64) collate utf8mb4_bin not null");
}

Finding judge_time_zone(const Facts& facts) {
  if (text_of(facts, "lock_until_type") != "timestamp") return good("no time has a time zone");
  const bool system = text_of(facts, "time_zone") == "SYSTEM";
  const std::string zone = text_of(facts, system ? "system_time_zone" : "time_zone");
  const std::string seen = "lock_until is a timestamp, and time_zone is " + zone;
  if (zone == "UTC" || zone.starts_with('+') || zone.starts_with('-')) return good(seen);
  return warning(seen,
                 "in the hour that summer time skips no lease can be written",
                 "let time_zone be +00:00 for all programs that use the table");
}

constexpr const char* k_variables =
    "show variables where variable_name in ('version', 'innodb_read_only', 'super_read_only', "
    "'read_only', 'transaction_read_only', 'tx_read_only', 'innodb_flush_log_at_trx_commit', "
    "'wsrep_on', 'max_connections', 'time_zone', 'system_time_zone', 'server_uuid', 'server_uid', "
    "'hostname', 'port')";
constexpr const char* k_status =
    "show global status where variable_name in ('Threads_connected', 'Slaves_connected', "
    "'Rpl_semi_sync_master_status', 'wsrep_cluster_state_uuid')";

Result<Facts> look(MySession& session, const std::string& table, Time limit) {
  const std::string of_ours = "table_schema = database() and table_name = ";
  const std::string is_table = of_ours + MySession::quoted(table);
  const std::string is_line = of_ours + MySession::quoted(table + "_line");
  const std::string of_trigger =
      " from information_schema.triggers where event_object_schema = database() and "
      "event_object_table in (" +
      MySession::quoted(table) + ", " + MySession::quoted(table + "_line") +
      ") order by trigger_name limit 1";
  const std::string from_columns = " from information_schema.columns where column_name = ";
  const auto answers = session.run(
      {{k_variables},
       {k_status},
       {"select 'has_locks', count(*) from information_schema.tables where " + is_table},
       {"select 'has_line', count(*) from information_schema.tables where " + is_line},
       {"select 'has_state', count(*)" + from_columns + "'state' and " + is_table},
       {"select 'schema', database()"},
       {"select 'engine', engine from information_schema.tables where " + is_table},
       {"select 'name_collation', collation_name" + from_columns + "'name' and " + is_table},
       {"select 'lock_until_type', data_type" + from_columns + "'lock_until' and " + is_table},
       {"select 'trigger_of', event_object_table" + of_trigger},
       {"select 'trigger', trigger_name" + of_trigger}},
      limit);
  if (!answers) return answers.error();
  Facts facts;
  for (const sql::Answer& answer : *answers) {
    for (const auto& row : answer.rows) {
      if (row.size() < 2 || !row[0] || !row[1]) continue;
      std::string name = *row[0];
      for (char& c : name)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      facts[name] = *row[1];
    }
  }
  return facts;
}

// Returns an id of the server. All nodes of a Galera cluster have one id, because they have the
// same locks. MySQL's id is server_uuid; MariaDB's is server_uid, which only new versions have.
std::string server_of(const Facts& facts) {
  if (text_of(facts, "wsrep_on") == "ON") return text_of(facts, "wsrep_cluster_state_uuid");
  for (const char* const name : {"server_uuid", "server_uid"})
    if (std::string number = text_of(facts, name); !number.empty()) return number;
  return text_of(facts, "hostname") + ":" + text_of(facts, "port");
}

Identity identity_of(const Facts& facts, const std::string& table) {
  Identity identity{.unseen = ""};
  identity.add("server", server_of(facts), "the servers do not tell wsrep_cluster_state_uuid");
  identity.add("schema", text_of(facts, "schema"), "the schema has no name");
  identity.add("table", table, "");
  return identity;
}

// Deletes the rows of the lock that `dlock doctor` has tried. Returns false if this user may not
// delete rows. A table that does not exist has no such row, so that is no failure.
bool remove_trial(MySession& session, const std::string& table, const LockName& name, Time until) {
  const std::string of_name = " where name = $1";
  const auto removed = session.run({{"delete from " + table + "_line" + of_name, {name.text()}},
                                    {"delete from " + table + of_name, {name.text()}}},
                                   until);
  return removed || removed.error().code != Errc::denied;
}

}  // namespace

Examination examine_mysql(const MyAddress& address,
                          const StoreOptions& options,
                          const ExamineTerms& terms) {
  const auto store = MysqlStore::open(address, options);
  const auto rival = MysqlStore::open(address, options);
  const std::string& table = address.table;
  MySession session(address, options.interrupt);
  Examination all{.url = store->where()};
  Findings findings(all.url);
  const auto facts =
      look(session, table, std::min(terms.until, BootClock::now() + terms.connect_timeout));
  if (!facts) {
    findings.add("connect", judge_connect(facts.error().text));
    all.servers = {{.url = all.url}};
    all.findings = findings.take();
    return all;
  }
  const Finding writable = judge_writable(*facts);
  all.servers = {{.url = all.url,
                  .product = session.is_mariadb() ? "mariadb" : "mysql",
                  .version = text_of(*facts, "version"),
                  .role = writable.level == Level::good ? "primary" : "read-only"}};
  all.identity = identity_of(*facts, table);
  const LockName name = trial_name(terms.name);
  Trial trial;
  bool removed = true;
  {
    const Undisturbed signals(terms.calls);
    trial = try_lock(*store, *rival, name, signals, terms.until);
    removed = remove_trial(session, table, name, signals.until(terms.until));
  }
  findings.add("version", judge_version(*facts, session.is_mariadb()));
  findings.add("writable", writable);
  const sql::TablesSeen seen{.locks = is_there(*facts, "has_locks"),
                             .line = is_there(*facts, "has_line"),
                             .has_state = is_there(*facts, "has_state")};
  findings.add("tables", sql::judge_tables(table, seen, trial, MysqlStore::tables(table)));
  findings.add("durable", judge_durable(*facts));
  findings.add("replication", judge_replication(*facts));
  findings.add("connections",
               sql::judge_connections(number_of(*facts, "threads_connected"),
                                      number_of(*facts, "max_connections")));
  if (seen.locks) {
    findings.add("engine", judge_engine(*facts, table));
    findings.add("triggers", judge_triggers(*facts));
    findings.add("collation", judge_collation(*facts, table));
    findings.add("timezone", judge_time_zone(*facts));
  }
  findings.add("trial", judge_trial(trial));
  if (!removed && !trial.failure) findings.add("row", sql::judge_left(table, name));
  findings.add("latency", measure_answers(*store, terms, all.servers.front()));
  all.findings = findings.take();
  return all;
}

}  // namespace dlock
