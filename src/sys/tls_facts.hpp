// SPDX-License-Identifier: MIT
// Facts about a TLS connection for display: nothing depends on them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace dlock {

struct TlsFacts {
  std::string version;             // "TLSv1.3"
  std::vector<std::string> names;  // of the server's certificate; at most five
  std::string end;                 // end of the certificate: "2027-01-01 12:00 UTC"
  std::chrono::seconds left{};     // until then, by this machine's calendar; negative: it has ended
};

}  // namespace dlock
