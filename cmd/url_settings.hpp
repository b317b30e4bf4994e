// SPDX-License-Identifier: MIT
// Settings in a URL, after its '?': rediss://host?cacert=FILE&sni=NAME. They are the TLS settings
// for files and the server's name, under the names of their options. A URL with such settings needs
// no options, and several URLs may differ.
#pragma once

#include "base/result.hpp"
#include "cmd/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct UrlParts {
  std::string url;              // without the settings, else unchanged
  std::vector<Given> settings;  // percent-decoded
};

// The URLs of a quorum, split at each blank before another scheme. Without such a blank it is one
// URL; any other blank belongs to its URL.
std::vector<std::string> split_urls(std::string_view urls);

// Takes the settings out of a URL that may have them (store/open_store.hpp); other URLs stay
// unchanged. PostgreSQL's may also use libpq's names (sslrootcert, sslcert, sslkey).
// Errc::bad_usage: a setting is given twice, or is another client's word; the text has the word to
// use.
Result<UrlParts> take_url_settings(std::string_view url);

}  // namespace dlock
