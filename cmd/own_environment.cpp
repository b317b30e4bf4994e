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

std::vector<std::string> shell_words(const std::string& command) {
  const char* const given = std::getenv("SHELL");
  const std::string path = given == nullptr ? "" : given;
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool runs_nothing = name.empty() || name == "nologin" || name == "false";
  return {runs_nothing ? "/bin/sh" : path, "-c", command};
}

void hide_from_libpq() {
  for (const std::string& entry : own_environment()) {
    if (!entry.starts_with("PG") || ::unsetenv(entry.substr(0, entry.find('=')).c_str()) != 0)
      continue;
    hidden().push_back(entry);
  }
}

}  // namespace dlock
