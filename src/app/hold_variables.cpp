// SPDX-License-Identifier: MIT
#include "app/hold_variables.hpp"

#include <algorithm>
#include <array>

namespace dlock {

std::vector<Variable> hold_variables(const Holds& holds) {
  std::string owners;
  std::string tokens;
  std::string slots;
  for (const Hold& hold : holds) {
    const char* const gap = owners.empty() ? "" : " ";
    owners += gap + hold.owner;
    tokens += gap + std::to_string(hold.token);
    if (hold.slot) slots += gap + std::to_string(*hold.slot);
  }
  std::vector<Variable> variables{{"DLOCK_NAME", join_names(names_of(holds))},
                                  {"DLOCK_OWNER", owners}};
  // A store without fencing tokens gives 0, which means no token.
  if (holds.front().token != 0) variables.push_back({"DLOCK_TOKEN", tokens});
  variables.push_back({"DLOCK_TTL_MS", std::to_string(to_ms(holds.front().ttl))});
  variables.push_back({"DLOCK_MODE", std::string(mode_word(holds.front().mode))});
  if (!slots.empty()) variables.push_back({"DLOCK_SLOT", slots});
  return variables;
}

bool is_hold_variable(std::string_view name) {
  constexpr std::array<std::string_view, 9> k_all{"DLOCK_HELD",
                                                  "DLOCK_NAME",
                                                  "DLOCK_OWNER",
                                                  "DLOCK_TOKEN",
                                                  "DLOCK_TTL_MS",
                                                  "DLOCK_EXPIRES",
                                                  "DLOCK_MODE",
                                                  "DLOCK_SLOT",
                                                  "DLOCK_HOLDS"};
  return std::find(k_all.begin(), k_all.end(), name) != k_all.end();
}

std::vector<AncestorHold> hold_entries(const std::string& store,
                                       const std::vector<LockName>& names,
                                       const std::vector<std::string>& keys,
                                       const Holds& holds) {
  std::vector<AncestorHold> entries;
  for (const Hold& hold : holds) {
    const auto at = std::find(names.begin(), names.end(), hold.name) - names.begin();
    entries.push_back({store, keys.at(static_cast<std::size_t>(at)), hold.owner, hold.serial});
  }
  return entries;
}

}  // namespace dlock
