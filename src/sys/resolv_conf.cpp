// SPDX-License-Identifier: MIT
#include "sys/resolv_conf.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace dlock {
namespace {

using namespace std::chrono_literals;

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view k_space = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(k_space, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(k_space, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// Returns 3 for the word "attempts:3" and the name "attempts:".
std::optional<int> value_of(std::string_view word, std::string_view name) {
  if (!word.starts_with(name)) return {};
  int value = 0;
  const auto [end, error] =
      std::from_chars(word.data() + name.size(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return {};
  return value;
}

void take_option(ResolvConf& conf, std::string_view word) {
  if (const auto seconds = value_of(word, "timeout:"))
    conf.timeout = std::chrono::seconds(std::clamp(*seconds, 1, 30));
  if (const auto times = value_of(word, "attempts:")) conf.attempts = std::clamp(*times, 1, 5);
}

}  // namespace

ResolvConf read_resolv_conf(std::string_view text) {
  ResolvConf conf;
  int servers = 0;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = words_of(line);
    if (words.size() > 1 && words[0] == "nameserver") ++servers;
    if (words.empty() || words[0] != "options") continue;
    for (const std::string_view word : words)
      take_option(conf, word);
  }
  conf.servers = std::max(servers, 1);
  return conf;
}

std::chrono::milliseconds patience(Duration search, const ResolvConf& conf) {
  const int parts = conf.servers * (conf.attempts > 1 ? 3 : 1);
  const auto share = std::chrono::floor<std::chrono::milliseconds>(search / parts);
  return std::clamp<std::chrono::milliseconds>(share, 1ms, conf.timeout);
}

}  // namespace dlock
