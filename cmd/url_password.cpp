// SPDX-License-Identifier: MIT
#include "cmd/url_password.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>

namespace dlock {

namespace {

constexpr std::size_t k_most_shown = 120;

// Returns "redis://" for "redis://host"; empty without a scheme.
std::string_view scheme_of(std::string_view url) {
  const std::size_t end = url.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+.-");
  const bool found = end != std::string_view::npos && url.substr(end).starts_with("://");
  return url.substr(0, found ? end + 3 : 0);
}

// Returns whether this can be a port: a number up to 65535, or empty.
bool is_port(std::string_view digits) {
  unsigned number = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return digits.empty() || (status == std::errc() && number <= 65535);
}

// Returns `rest` as a message may show it. `rest` is the text of a URL after the scheme, and has no
// "@". "host:6379/0" is unchanged. What may be a password, as in "user:secret", and a query become
// "***".
std::string without_at(std::string_view rest) {
  if (const std::size_t query = rest.find_first_of("?#"); query != std::string_view::npos)
    return without_at(rest.substr(0, query)) + rest[query] + "***";
  if (rest.starts_with('/')) return std::string(rest);  // a path
  const std::size_t port = rest.find(':', rest.starts_with('[') ? rest.find(']') : 0);
  if (port == std::string_view::npos) return std::string(rest);
  const std::size_t end = std::min(rest.find_first_not_of("0123456789", port + 1), rest.size());
  const bool ends = end == rest.size() || rest[end] == '/';
  if (ends && is_port(rest.substr(port + 1, end - port - 1))) return std::string(rest);
  return std::string(rest.substr(0, port)) + ":***";
}

std::string shown_one(std::string_view url) {
  const std::string_view scheme = scheme_of(url);
  const std::string_view rest = url.substr(scheme.size());
  const std::size_t at = rest.rfind('@');
  const std::string shown =
      at == std::string_view::npos
          ? without_at(rest)
          : "***@" + std::string(rest.substr(at + 1, rest.find_first_of("?#", at) - at - 1));
  return shortened(std::string(scheme) + shown, k_most_shown);
}

// Returns the parts between blanks.
std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view k_blanks = " \t\r\n";
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(k_blanks); at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(k_blanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(k_blanks, end);
  }
  return words;
}

}  // namespace

std::vector<std::string_view> passwords_in(std::string_view text) {
  std::vector<std::string_view> passwords;
  for (const std::string_view word : words_of(text))
    if (const auto one = password_in_url(word); !one.empty()) passwords.push_back(one);
  return passwords;
}

std::string public_part(std::string_view url) {
  const std::string_view scheme = scheme_of(url);
  std::string_view rest = url.substr(scheme.size());
  rest = rest.substr(0, rest.find_first_of("?#"));
  const auto at = rest.substr(0, rest.find('/')).rfind('@');
  if (at != std::string_view::npos) rest.remove_prefix(at + 1);
  return std::string(scheme) + std::string(rest);
}

std::string shown_url(std::string_view url) {
  std::string shown;
  for (const std::string_view one : words_of(url))
    shown += (shown.empty() ? "" : " ") + shown_one(one);
  return shown;
}

}  // namespace dlock
