// SPDX-License-Identifier: MIT
// Parses the words of a command line, and returns the command or the text of the refusal.
#pragma once

#include "cmd/command_line.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

namespace dlock::test {

using Words = std::vector<std::string>;

inline Result<CommandLine> parse(Words words) {
  words.insert(words.begin(), "dlock");
  return parse_command_line(words);
}

inline CommandLine good(const Words& words) {
  auto line = parse(words);
  REQUIRE_MESSAGE(line.has_value(), (line ? "" : line.error().text));
  return *line;
}

inline std::string wrong(const Words& words) {
  const auto line = parse(words);
  REQUIRE_FALSE(line.has_value());
  CHECK(line.error().code == Errc::bad_usage);
  return line.error().text;
}

inline std::map<std::string, std::string> settings(const CommandLine& line) {
  std::map<std::string, std::string> all;
  for (const Given& one : line.settings)
    all[one.name] = one.value;
  return all;
}

}  // namespace dlock::test
