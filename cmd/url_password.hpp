// SPDX-License-Identifier: MIT
// Where a URL, or a list of URLs with blanks between, keeps passwords, so that they can be found
// and blotted out.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// The password part of "scheme://user:password@host…" inside `text`, which is one URL; empty if
// there is none.
inline std::string_view password_in_url(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view authority = text.substr(scheme + 3);
  // The last @ before the path ends the user's part, so that a stray @ in a password stays inside.
  const std::size_t at =
      authority.substr(0, std::min(authority.find('/'), authority.size())).rfind('@');
  if (at == std::string_view::npos) return {};
  authority = authority.substr(0, at);
  const std::size_t colon = authority.find(':');
  return colon == std::string_view::npos ? std::string_view() : authority.substr(colon + 1);
}

// Of each URL in the list that has one; they are parts of `text`.
std::vector<std::string_view> passwords_in(std::string_view text);

// "https://host/path" of a URL that may have a user, a password or a token: without these.
std::string public_part(std::string_view url);

// A list of URLs that may be malformed, for an error text, with "***" in place of a possible
// password: the text before the last @; without an @, the text after a colon unless that is a port.
std::string shown_url(std::string_view url);

}  // namespace dlock
