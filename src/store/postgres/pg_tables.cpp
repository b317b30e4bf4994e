// SPDX-License-Identifier: MIT
#include "store/postgres/pg_tables.hpp"

#include "base/text.hpp"
#include "store/sql/lock_row.hpp"

#include <utility>

namespace dlock {

namespace {

// A cheap test whether a table can be trusted: it has no trigger and no rule, and its owner is this
// user, the owner of the database or a superuser. It reads no other table of the catalogue. It also
// fails for a good table whose last trigger was just dropped; then the exact test decides.
constexpr const char* k_is_plain =
    "not c.relhastriggers and not c.relhasrules and "
    "(pg_catalog.pg_get_userbyid(c.relowner) = current_user or "
    "pg_catalog.pg_has_role(c.relowner, 'pg_database_owner', 'member'))";

// Returns whether the owner of the table is trusted, because the owner can do anything to it. An
// owner is trusted if it may become the owner of the database, as every superuser may: such a role
// can do anything here anyway. It is also trusted if we are a member of its role, because then it
// has created the table for us. Membership proves nothing if we are a superuser, who counts as a
// member of every role.
constexpr const char* k_owner_is_trusted =
    "(pg_catalog.pg_get_userbyid(c.relowner) = current_user "
    "or pg_catalog.pg_has_role(c.relowner, d.datdba, 'member') "
    "or (pg_catalog.current_setting('is_superuser') = 'off' "
    "and pg_catalog.pg_has_role(c.relowner, 'member')))";
constexpr const char* k_trigger =
    "from pg_catalog.pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal";
// Finds rules of the table. Every view has the rule _RETURN, which does not count: a view is
// trusted if its owner is.
constexpr const char* k_rule =
    "from pg_catalog.pg_rewrite r where r.ev_class = c.oid and r.rulename <> '_RETURN'";
constexpr const char* k_joined =
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace "
    "join pg_catalog.pg_database d on d.datname = pg_catalog.current_database()";

// The owner of the schema can do anything to the table, too. That owner is trusted only if the URL
// names the schema. Otherwise another role may own a schema that comes first in our search path.
constexpr const char* k_schema_is_trusted =
    " or pg_catalog.pg_has_role(c.relowner, n.nspowner, 'member')";

std::string owner_is_trusted(bool names_schema) {
  std::string text = std::string("(") + k_owner_is_trusted;
  return text.append(names_schema ? k_schema_is_trusted : "").append(")");
}

std::string is_trusted(bool names_schema) {
  return owner_is_trusted(names_schema) + " and not exists (select " + k_trigger +
         ") and not exists (select " + k_rule + ")";
}

std::string of_another(const std::string& table, const std::string& owner) {
  std::string text = "the table " + table + " belongs to " + owner;
  text +=
      ", who is neither this user, nor the owner of the database, nor a superuser, nor the owner "
      "of a schema that the URL names: drop it, or name its schema (?table=SCHEMA.TABLE), or let a "
      "superuser run alter table ";
  return text.append(table).append(" owner to ROLE");
}

std::string has_more(const std::string& table, const char* kind, const std::string& name) {
  const std::string one = kind + (' ' + name);
  std::string text = "the table " + table + " has the " + one;
  text += ", which could change a lock, with the rights of each user of dlock: drop ";
  return text.append(one).append(" on ").append(table);
}

}  // namespace

PgTables::PgTables(std::string table)
    : table_(std::move(table)),
      locks_(table_),
      line_(table_ + "_line"),
      names_schema_(table_.find('.') != std::string::npos) {}

// Returns a statement that fails if a table is not trusted: then set_config gets a text that is no
// number. After that error the server skips all later statements that were sent with this one.
sql::Statement PgTables::guard(const std::string& ms, bool has_line, bool in_full) const {
  const std::string condition = in_full ? is_trusted(names_schema_) : k_is_plain;
  const std::string line = has_line ? ", pg_catalog.to_regclass('" + line_ + "')::oid" : "";
  return {
      "select pg_catalog.set_config('statement_timeout', case when " + condition +
          " then $1 else 'the tables may not be safe' end, true), "
          "pg_catalog.set_config('idle_in_transaction_session_timeout', $1, true), "
          "c.relname, c.relnamespace::pg_catalog.regnamespace::text from pg_catalog.pg_class c" +
          (in_full ? k_joined : "") + " where c.oid in ('" + locks_ +
          "'::pg_catalog.regclass::oid" + line + ")",
      {ms}};
}

// Returns whether this SQLSTATE means that guard() has refused a table. 22023: set_config got a
// text that is no number. 42704: before version 14 the role pg_database_owner does not exist, which
// k_is_plain names; then only the exact test can pass.
bool PgTables::is_refusal(const std::string& sqlstate) {
  return sqlstate == "22023" || sqlstate == "42704";
}

void PgTables::learn(const sql::Answer& answer) {
  const std::string name = table_.substr(table_.find('.') + 1);
  for (const auto& row : answer.rows) {
    const bool is_locks = sql::text_at(row, 2) == name;
    const std::string at = sql::text_at(row, 3) + '.' + name;
    (is_locks ? locks_ : line_) = is_locks ? at : at + "_line";
    (is_locks ? knows_locks_ : knows_line_) = true;
  }
}

sql::Statement PgTables::ask_why() const {
  return {"select c.relname, pg_catalog.pg_get_userbyid(c.relowner), " +
              owner_is_trusted(names_schema_) + ", (select pg_catalog.min(t.tgname::text) " +
              k_trigger + "), (select pg_catalog.min(r.rulename::text) " + k_rule +
              ") from pg_catalog.pg_class c" + k_joined +
              " where c.oid in (pg_catalog.to_regclass($1)::oid, pg_catalog.to_regclass($2)::oid)",
          {locks_, line_}};
}

std::optional<std::string> PgTables::fault_in(const sql::Answer& answer) {
  for (const auto& row : answer.rows) {
    const std::string table = printable(sql::text_at(row, 0));
    if (sql::text_at(row, 2) == "f") return of_another(table, printable(sql::text_at(row, 1)));
    if (row.size() > 3 && row[3]) return has_more(table, "trigger", printable(*row[3]));
    if (row.size() > 4 && row[4]) return has_more(table, "rule", printable(*row[4]));
  }
  return std::nullopt;
}

}  // namespace dlock
