// SPDX-License-Identifier: MIT
// How the values of settings are written: true or false, numbers, signals, and words to choose
// from. Any other value is Errc::bad_usage, with a text that says what is expected.
#pragma once

#include "base/result.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

// Returns the error "'x' is not EXPECTED".
Error wrong(std::string_view value, std::string_view expected);
// Returns the error "'x' is not ONE, TWO or THREE".
Error wrong_word(std::string_view value, const std::vector<std::string_view>& words);

Result<void> set_bool(bool& to, std::string_view value);
Result<int> parse_int(std::string_view value, int least, int most, std::string_view expected);
// Accepts "TERM", "SIGTERM" or a number, as kill(1) does.
Result<int> parse_signal(std::string_view value);

template <class T>
Result<void> set_word(T& to,
                      std::string_view value,
                      std::initializer_list<std::pair<std::string_view, T>> choices) {
  std::vector<std::string_view> words;
  for (const auto& [word, meaning] : choices) {
    words.push_back(word);
    if (value != word) continue;
    to = meaning;
    return {};
  }
  return wrong_word(value, words);
}

}  // namespace dlock
