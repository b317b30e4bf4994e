// SPDX-License-Identifier: MIT
#include "store/mysql/my_engine.hpp"

#include "base/text.hpp"

namespace dlock {

namespace {

sql::Statement ask(const std::string& table, const std::string& more) {
  const std::string from = " from information_schema.tables";
  return {"select table_name, engine" + more + from +
              " where table_schema = database() and table_name = $1",
          {table}};
}

}  // namespace

sql::Statement ask_engine(const std::string& table) {
  return ask(table, "");
}

sql::Statement ask_table(const std::string& table) {
  return ask(table,
             ", (select trigger_name from information_schema.triggers where event_object_schema = "
             "database() and event_object_table = $1 limit 1)");
}

std::optional<std::string> engine_fault(const sql::Answer& answer) {
  for (const auto& row : answer.rows) {
    if (row.size() < 2 || !row[0] || !row[1] || *row[1] == "InnoDB") continue;
    return "the engine of the table " + printable(*row[0]) + " is " + printable(*row[1]) +
           ", which locks no rows; let its owner run: alter table " + printable(*row[0]) +
           " engine = InnoDB";
  }
  return std::nullopt;
}

std::optional<std::string> table_fault(const sql::Answer& answer) {
  for (const auto& row : answer.rows) {
    if (row.size() < 3 || !row[0] || !row[2]) continue;
    const std::string trigger = "trigger " + printable(*row[2]);
    std::string text = "the table " + printable(*row[0]) + " has the " + trigger;
    return text.append(", which could change a lock: drop ").append(trigger);
  }
  return engine_fault(answer);
}

}  // namespace dlock
