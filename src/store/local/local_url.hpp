// SPDX-License-Identifier: MIT
// The URL of a store that keeps locks in files: local:///dir, sqlite:///file.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock::local {

struct Place {
  std::string path;       // absolute and normal
  bool unshared = false;  // ?shared=no: no other machine uses this file system, says the user
};

// Reads the path from a URL. `scheme`: with "://". `noun` ("directory") and `example` (a URL) are
// for error texts. Errors are Errc::bad_usage and do not quote the URL, which may contain a
// password.
Result<Place> parse_url(std::string_view url,
                        std::string_view scheme,
                        std::string_view noun,
                        std::string_view example);

// Returns the URL of a path, without ?shared=no.
std::string url_of(std::string_view scheme, std::string_view path);

}  // namespace dlock::local
