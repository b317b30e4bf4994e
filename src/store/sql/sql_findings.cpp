// SPDX-License-Identifier: MIT
#include "store/sql/sql_findings.hpp"

namespace dlock::sql {

Finding judge_connections(long long used, long long most) {
  if (most <= 0) return not_seen("the server does not tell max_connections");
  const std::string seen =
      std::to_string(used) + " of " + std::to_string(most) + " connections are in use";
  if (used * 5 <= most * 4) return good(seen);
  return warning(seen,
                 "at the limit no connection is accepted: a holder cannot reconnect",
                 "raise max_connections, or close what is idle");
}

Finding judge_tables(const std::string& table,
                     const TablesSeen& seen,
                     const Trial& trial,
                     const std::vector<std::string>& ddl) {
  if (seen.locks && !seen.has_state) {
    return info(table +
                " is there with the four columns of ShedLock: plain locks, and waiters in no line");
  }
  const bool there = seen.locks && seen.line;
  const bool one = seen.locks;
  const std::string names = one ? table + "_line" : table + " and " + table + "_line";
  const std::string are = one ? " is " : " are ";
  const std::string were = one ? " was " : " were ";
  const bool denied = trial.failure && trial.failure->code == Errc::denied;
  if (there && denied) {
    return broken(table + " and " + table + "_line are there: " + trial.failure->text,
                  "this user may not use them",
                  "let their owner run the grants that dlock doctor --ddl prints");
  }
  if (there) return info(table + " and " + table + "_line are there");
  if (!trial.failure) return info(names + were + "missing, and" + were + "made for the trial");
  if (!denied)
    return info(names + are + "not there yet: the first claim makes " + (one ? "it" : "them"));
  std::string statements;
  for (const std::string& statement : ddl)
    statements += ' ' + statement + ';';
  return broken(names + are + "missing: " + trial.failure->text,
                "this user may not make them",
                "let their owner run what dlock doctor --ddl prints:" + statements);
}

Finding judge_left(const std::string& table, const LockName& name) {
  return info("the row " + name.text() + " stays in " + table + ", as that of a free lock",
              "doctor may not delete it; other commands need no right to delete there");
}

std::vector<std::string> grants(const std::string& table,
                                const std::string& of_line,
                                const std::string& user) {
  return {"grant select, insert, update on " + table + " to " + user,
          "grant " + of_line + " on " + table + "_line to " + user};
}

}  // namespace dlock::sql
