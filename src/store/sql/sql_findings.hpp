// SPDX-License-Identifier: MIT
// What `dlock doctor` says about an SQL server, from facts that the server's own code has read
// (examine_mysql.cpp, examine_postgres.cpp). Pure.
#pragma once

#include "store/doctor/finding.hpp"
#include "store/doctor/trial.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dlock::sql {

// Returns a warning if more than 80 % of the server's connections are in use; not_seen if `most`,
// their limit, is 0.
Finding judge_connections(long long used, long long most);
// Which tables existed before `dlock doctor` tried a lock. Trying a lock creates missing tables if
// this user has the right to.
struct TablesSeen {
  bool locks = false;
  bool line = false;
  // The table of locks has dlock's own columns, not only the four of ShedLock.
  bool has_state = false;
};
// Judges the tables. `ddl` are the statements that create them.
Finding judge_tables(const std::string& table,
                     const TablesSeen& seen,
                     const Trial& trial,
                     const std::vector<std::string>& ddl);
// Returns the finding that the row of the lock that `dlock doctor` has tried is still there,
// because this user may not delete it.
Finding judge_left(const std::string& table, const LockName& name);

// Returns the GRANT statements for all rights that dlock needs. `of_line` are the rights to the
// table of lines; `user` is the user as the server writes it.
std::vector<std::string> grants(const std::string& table,
                                const std::string& of_line,
                                const std::string& user);

}  // namespace dlock::sql
