// SPDX-License-Identifier: MIT
#include "cmd/display.hpp"

#include <strings.h>
#include <unistd.h>

#include <cstdlib>

namespace dlock {

namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

bool understands_escapes() {
  const std::string_view term = variable("TERM");
  return !term.empty() && term != "dumb" && ::isatty(STDERR_FILENO) == 1;
}

bool locale_has_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = variable(name);
    if (value.empty()) continue;
    const std::string_view charset = value.substr(value.find('.') + 1);
    return ::strncasecmp(charset.data(), "UTF-8", 5) == 0 ||
           ::strncasecmp(charset.data(), "utf8", 4) == 0;
  }
  return false;
}

}  // namespace dlock
