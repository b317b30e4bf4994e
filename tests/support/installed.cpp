// SPDX-License-Identifier: MIT
#include "support/installed.hpp"

#include <glob.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace dlock::test {

namespace {

std::string path() {
  const char* const value = std::getenv("PATH");
  return value != nullptr ? value : "/usr/bin:/bin";
}

bool exists(const std::string& pattern) {
  glob_t found{};
  const bool any = ::glob(pattern.c_str(), 0, nullptr, &found) == 0;
  ::globfree(&found);
  return any;
}

bool runs(const std::string& program) {
  std::istringstream folders(path());
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + '/' + program).c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace

void find_system_programs() {
  ::setenv("PATH", (path() + ":/usr/sbin:/sbin").c_str(), 1);
}

std::string missing(const Installable& one) {
  const std::string program = one.program;
  if (program.starts_with('/') ? exists(program) : runs(program)) return {};
  return "no " + std::string(one.name) + " installed (package " + one.package + ")";
}

}  // namespace dlock::test
