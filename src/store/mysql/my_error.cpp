// SPDX-License-Identifier: MIT
#include "store/mysql/my_error.hpp"

namespace dlock {
namespace {

struct Rule {
  unsigned int number;
  MyMeaning meaning;
};

constexpr MyMeaning k_denied{Errc::denied, sql::Cause::other};
constexpr MyMeaning k_no_right{
    Errc::denied,
    sql::Cause::other,
    "dlock doctor --ddl prints its tables, and the grants that it needs"};
constexpr MyMeaning k_repeat{Errc::unavailable, sql::Cause::repeat};
constexpr MyMeaning k_read_only{
    Errc::refused, sql::Cause::other, "is it a replica? dlock needs the one server that writes"};
constexpr MyMeaning k_not_now{Errc::unavailable, sql::Cause::other};

// The server writes its binary log in the format "statement", which does not support READ
// COMMITTED.
constexpr MyMeaning k_binlog{
    Errc::refused, sql::Cause::other, "dlock needs binlog_format MIXED or ROW there"};

constexpr std::string_view k_charset = "a name has to fit the character set of the column";

// An error number that is not in this list means Errc::refused.
constexpr Rule k_rules[] = {
    {1044, k_denied},    // this user may not use the database
    {1045, k_denied},    // wrong password
    {1129, k_denied},    // too many failed attempts from this host
    {1130, k_denied},    // connections from this host are not allowed
    {1142, k_no_right},  // this user may not use the table
    {1143, k_no_right},  // this user may not use a column
    {1227, k_denied},    // a privilege is missing
    {1251, k_denied},    // the password is stored in an old format
    {1370, k_denied},    // this user may not use a routine
    {1524, k_denied},    // the server lacks the plug-in with which this user logs in
    {1698, k_denied},    // no password was sent
    {1820, k_denied},    // the password has to be changed first
    {1862, k_denied},    // the password has expired
    {3118, k_denied},    // the account is locked (MySQL)
    {4151, k_denied},    // the account is locked (MariaDB)
    {1020, k_repeat},    // a row has changed since the snapshot
    {1205, k_repeat},    // a wait for a row took too long
    {1213, k_repeat},    // deadlock
    {3572, k_repeat},    // the row is locked (NOWAIT)
    {1290, k_read_only},
    {1792, k_read_only},  // the transaction is read-only
    {1836, k_read_only},
    {1874, k_read_only},  // InnoDB is read-only
    {1021, k_not_now},    // disk full
    {1037, k_not_now},    // out of memory
    {1040, k_not_now},    // too many connections
    {1041, k_not_now},    // out of memory
    {1047, k_not_now},    // a node of Galera that has lost its cluster
    {1053, k_not_now},    // the server is shutting down
    {1080, k_not_now},    // connection closed by the server
    {1152, k_not_now},    // connection aborted
    {1158, k_not_now},    // 1158 to 1161: network errors
    {1159, k_not_now},
    {1160, k_not_now},
    {1161, k_not_now},
    {1184, k_not_now},  // connection aborted
    {1203, k_not_now},  // too many connections of this user
    {1206, k_not_now},  // too many locks
    {1226, k_not_now},  // a limit on this user
    {1317, k_not_now},  // the statement was killed
    {1927, k_not_now},  // the connection was killed
    {1969, k_not_now},  // the limit max_statement_time was reached
    {3024, k_not_now},  // the limit max_execution_time was reached
    {3032, k_not_now},  // offline mode
    {3168, k_not_now},  // the server is not available
    {3169, k_not_now},  // the session was killed
    {4031, k_not_now},  // closed because idle
    {1665, k_binlog},
    {1406, {Errc::bad_usage, sql::Cause::other}},             // a name longer than the column
    {1267, {Errc::bad_usage, sql::Cause::other, k_charset}},  // collations do not match
    {1366, {Errc::bad_usage, sql::Cause::other, k_charset}},
    {1054, {Errc::refused, sql::Cause::no_column}},
    {1146, {Errc::refused, sql::Cause::no_table}},
    {1049, {Errc::refused}},
};

}  // namespace

MyMeaning meaning_of(unsigned int number) {
  for (const Rule& rule : k_rules) {
    if (rule.number == number) return rule.meaning;
  }
  return {};
}

}  // namespace dlock
