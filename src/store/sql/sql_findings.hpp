// SPDX-License-Identifier: MIT
// What `dlock doctor` says about an SQL server, from facts that the store of that server has read.
// Pure.
#pragma once

#include "store/doctor/finding.hpp"
#include "store/doctor/trial.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dlock::sql {

// Returns a warning if more than 80 % of the connections are in use; not_seen if `most` is 0.
Finding judge_connections(long long used, long long most);
// The tables as they were before the trial, which creates missing ones if it may.
struct TablesSeen {
  bool locks = false;
  bool line = false;
  bool has_state = false;  // false: the table of locks has only the columns of ShedLock
};
// Returns the finding about the tables. `ddl`: the statements that create them.
Finding judge_tables(const std::string& table,
                     const TablesSeen& seen,
                     const Trial& trial,
                     const std::vector<std::string>& ddl);
// Returns the finding for a row of the trial that this user may not delete.
Finding judge_left(const std::string& table, const LockName& name);

// Returns the GRANT statements for the rights that all commands need. `of_line`: the rights on the
// table of lines; `user`: as the server writes it.
std::vector<std::string> grants(const std::string& table,
                                const std::string& of_line,
                                const std::string& user);

}  // namespace dlock::sql
