// SPDX-License-Identifier: MIT
// Settings in a URL, after its '?': rediss://host?cacert=FILE&sni=NAME. They are TLS settings
// (files and the server's name) with the names of their options. So each of several URLs can have
// settings of its own.
#pragma once

#include "base/result.hpp"
#include "cmd/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct UrlParts {
  std::string url;              // the URL without the settings, otherwise unchanged
  std::vector<Given> settings;  // percent-decoded
};

// Returns the URLs of a quorum, which are separated by blanks. Only a blank that another scheme
// follows separates two URLs; other blanks stay in their URL.
std::vector<std::string> split_urls(std::string_view urls);

// Takes the settings out of a URL. URLs of a kind of store that has no TLS are returned unchanged.
// A PostgreSQL URL may also use libpq's names (sslrootcert, sslcert, sslkey). Errc::bad_usage: a
// setting is given twice, or has a name that another client uses; then the error text says what to
// write instead.
Result<UrlParts> take_url_settings(std::string_view url);

}  // namespace dlock
