// SPDX-License-Identifier: MIT
#include "cmd/own_environment.hpp"

#include <unistd.h>

#include <cstdlib>

namespace dlock {

namespace {

std::vector<std::string>& hidden() {
  static std::vector<std::string> entries;
  return entries;
}

}  // namespace

std::vector<std::string> own_environment() {
  std::vector<std::string> entries = hidden();
  for (char** entry = environ; *entry != nullptr; ++entry)
    entries.emplace_back(*entry);
  return entries;
}

void hide_from_libpq() {
  for (const std::string& entry : own_environment()) {
    if (!entry.starts_with("PG") || ::unsetenv(entry.substr(0, entry.find('=')).c_str()) != 0)
      continue;
    hidden().push_back(entry);
  }
}

}  // namespace dlock
