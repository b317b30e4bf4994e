// SPDX-License-Identifier: MIT
#include "cmd/setting_values.hpp"

#include "base/text.hpp"

#include <charconv>
#include <csignal>
#include <cstring>

namespace dlock {

Error wrong(std::string_view value, std::string_view expected) {
  return {Errc::bad_usage, in_quotes(shortened(value, 80)) + " is not " + std::string(expected)};
}

Error wrong_word(std::string_view value, const std::vector<std::string_view>& words) {
  std::string expected;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) expected += i + 1 == words.size() ? " or " : ", ";
    expected += words[i];
  }
  return wrong(value, expected);
}

Result<void> set_bool(bool& to, std::string_view value) {
  if (value == "true" || value == "1" || value == "yes" || value == "on") {
    to = true;
  } else if (value == "false" || value == "0" || value == "no" || value == "off" || value.empty()) {
    to = false;
  } else {
    return wrong(value, "true or false");
  }
  return {};
}

Result<int> parse_int(std::string_view value, int least, int most, std::string_view expected) {
  int number = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (status != std::errc() || end != value.data() + value.size() || number < least ||
      number > most) {
    return wrong(value, expected);
  }
  return number;
}

Result<int> parse_signal(std::string_view value) {
  std::string_view name = value;
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* const known = ::sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return parse_int(value, 1, NSIG - 1, "a signal: write TERM, INT, HUP, USR1 or a number");
}

}  // namespace dlock
