// SPDX-License-Identifier: MIT
// Settings that a URL carries behind its '?': rediss://host?cacert=FILE&sni=NAME. They are those of
// TLS that say where files are and how the server is called, under the names of their options. A
// URL that has its own needs none of the options, and several URLs may differ.
#pragma once

#include "base/result.hpp"
#include "cmd/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct UrlParts {
  std::string url;              // without them; all else is as it was
  std::vector<Given> settings;  // percent-decoded
};

// The URLs of a quorum: what stands before a blank and another scheme. One, if there is no such
// place; a blank elsewhere belongs to its URL.
std::vector<std::string> split_urls(std::string_view urls);

// Of a URL of Redis over TCP, with TLS or without, or of PostgreSQL, which may also say them as
// libpq does (sslrootcert, sslcert, sslkey); other URLs stay as they are. Errc::bad_usage: one is
// said twice, or is a word of another client; the text has the one to use.
Result<UrlParts> take_url_settings(std::string_view url);

}  // namespace dlock
