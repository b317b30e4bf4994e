// SPDX-License-Identifier: MIT
#include "store/mysql/my_engine.hpp"

#include "base/text.hpp"

namespace dlock {

std::string ask_engines(const std::vector<std::string>& tables) {
  std::string names;
  for (const std::string& table : tables)
    names += (names.empty() ? "'" : ", '") + table + "'";
  return "select table_name, engine from information_schema.tables where table_schema = "
         "database() and table_name in (" +
         names + ")";
}

std::optional<std::string> engine_fault(const MyRows& answer) {
  for (const auto& row : answer.rows) {
    if (row.size() != 2 || !row[0] || !row[1] || *row[1] == "InnoDB") continue;
    return "the engine of the table " + printable(*row[0]) + " is " + printable(*row[1]) +
           ", which locks no rows; let its owner run: alter table " + printable(*row[0]) +
           " engine = InnoDB";
  }
  return std::nullopt;
}

// One table after the other: so the server opens no more than these.
std::string ask_triggers(const std::vector<std::string>& tables) {
  std::string all;
  for (const std::string& table : tables) {
    if (!all.empty()) all += " union all ";
    all +=
        "select event_object_table, trigger_name from information_schema.triggers where "
        "event_object_schema = database() and event_object_table = '";
    all += table + "'";
  }
  return all;
}

std::optional<std::string> trigger_fault(const MyRows& answer) {
  for (const auto& row : answer.rows) {
    if (row.size() != 2 || !row[0] || !row[1]) continue;
    const std::string trigger = "trigger " + printable(*row[1]);
    std::string text = "the table " + printable(*row[0]) + " has the " + trigger;
    return text.append(", which could change a lock: drop ").append(trigger);
  }
  return std::nullopt;
}

}  // namespace dlock
