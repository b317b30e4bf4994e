// SPDX-License-Identifier: MIT
// What `dlock doctor` says about each SQL server, from facts that its store has looked up. Pure.
#pragma once

#include "store/doctor/finding.hpp"
#include "store/doctor/trial.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dlock::sql {

// A warning above 80 %; not seen without numbers.
Finding judge_connections(long long used, long long most);
// Seen before the trial, which makes missing tables if it may.
struct TablesSeen {
  bool locks = false;
  bool line = false;
  bool has_state = false;  // else the table of locks has only the columns of ShedLock
};
// `ddl`: the statements that make the tables.
Finding judge_tables(const std::string& table,
                     const TablesSeen& seen,
                     const Trial& trial,
                     const std::vector<std::string>& ddl);
// The finding about a trial's row that this user may not delete.
Finding judge_left(const std::string& table, const LockName& name);

// The rights that all commands need, `of_line` for the table of the line; `user` as the server
// writes it.
std::vector<std::string> grants(const std::string& table,
                                const std::string& of_line,
                                const std::string& user);

}  // namespace dlock::sql
