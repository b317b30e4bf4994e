// SPDX-License-Identifier: MIT
// Finds the passwords in a URL, or in a list of URLs separated by blanks, so that they can be
// hidden.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// Returns the password in `text`, which is one URL, "scheme://user:password@host…"; empty if it has
// no password.
inline std::string_view password_in_url(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view authority = text.substr(scheme + 3);
  // The last @ before the path ends the user and password, so a password may contain an @.
  const std::size_t at =
      authority.substr(0, std::min(authority.find('/'), authority.size())).rfind('@');
  if (at == std::string_view::npos) return {};
  authority = authority.substr(0, at);
  const std::size_t colon = authority.find(':');
  return colon == std::string_view::npos ? std::string_view() : authority.substr(colon + 1);
}

// Returns the passwords of all URLs in the list, as views into `text`.
std::vector<std::string_view> passwords_in(std::string_view text);

// Returns the URL's "https://host/path", without its user, password and query.
std::string public_part(std::string_view url);

// Returns a list of URLs, which may be malformed, for an error text. "***" stands in place of what
// may be a password: the text before the last @ or, if there is no @, a text after a colon that is
// no port. The query of a URL is not shown either.
std::string shown_url(std::string_view url);

}  // namespace dlock
