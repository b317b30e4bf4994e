// SPDX-License-Identifier: MIT
// Where a URL keeps a password, so that it can be found and blotted out.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace dlock {

// The password part of "scheme://user:password@host…" inside `text`; empty if there is none.
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

// A URL that may be malformed, for an error text, with "***" in place of a possible password: the
// text before the last @; without an @, the text after a colon unless that is a port.
std::string shown_url(std::string_view url);

}  // namespace dlock
