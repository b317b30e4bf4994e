// SPDX-License-Identifier: MIT
#include "cmd/display.hpp"

#include "base/text.hpp"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace dlock {

namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::string wrapped(std::string_view lines, std::size_t columns) {
  std::string out;
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    std::string row(line.substr(0, indent));
    bool has_word = false;
    for (std::size_t at = indent; at <= line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      const std::string_view word = line.substr(at, end - at);
      if (has_word && columns_of(row) + 1 + columns_of(word) > columns) {
        out += row + '\n';
        row.assign(indent + 4, ' ');
        has_word = false;
      }
      row += (has_word ? " " : "") + std::string(word);
      has_word = true;
      at = end + 1;
    }
    out += row + '\n';
  }
  return out;
}

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
