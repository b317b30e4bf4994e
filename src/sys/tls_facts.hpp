// SPDX-License-Identifier: MIT
// What a TLS connection turned out to be, for people to read: nothing depends on it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace dlock {

struct TlsFacts {
  std::string version;             // "TLSv1.3"
  std::vector<std::string> names;  // that the server's certificate is for; at most five
  std::string end;                 // of the certificate: "2027-01-01 12:00 UTC"
  std::chrono::seconds left{};     // until then, by this machine's calendar; negative: it has ended
};

}  // namespace dlock
