// SPDX-License-Identifier: MIT
// What `dlock doctor` says of each server of SQL alike, from facts that its store has looked up.
// Pure.
#pragma once

#include "store/doctor/finding.hpp"
#include "store/doctor/trial.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dlock::sql {

// A warning above 80 %; not seen without numbers.
Finding judge_connections(long long used, long long most);
// Before the trial, which makes tables that are missing if it may.
struct TablesSeen {
  bool locks = false;
  bool line = false;
  bool has_state = false;  // else the table of locks has only the columns of ShedLock
};
// `ddl`: what makes the tables.
Finding judge_tables(const std::string& table,
                     const TablesSeen& seen,
                     const Trial& trial,
                     const std::vector<std::string>& ddl);
// Of the row of a trial that this user may not delete.
Finding judge_left(const std::string& table, const LockName& name);

// The rights that all commands need, `of_line` to the table of the line; `user` as it is written
// there.
std::vector<std::string> grants(const std::string& table,
                                const std::string& of_line,
                                const std::string& user);

}  // namespace dlock::sql
