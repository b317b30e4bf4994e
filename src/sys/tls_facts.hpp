// SPDX-License-Identifier: MIT
// Facts about a TLS connection, only for display.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace dlock {

struct TlsFacts {
  std::string version;             // "TLSv1.3"
  std::vector<std::string> names;  // names in the server's certificate; at most five
  std::string end;                 // when the certificate expires: "2027-01-01 12:00 UTC"
  // Time until it expires, by this machine's calendar; negative: it has expired.
  std::chrono::seconds left{};
};

}  // namespace dlock
