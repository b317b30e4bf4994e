// SPDX-License-Identifier: MIT
// The identity of a store: clients with equal identities share its locks; clients whose identities
// differ in a part do not exclude each other. dlock doctor prints it as one short word, so that two
// hosts can be compared.
#pragma once

#include <string>
#include <vector>

namespace dlock {

struct Identity {
  struct Part {
    std::string name;   // "server"; several parts may have one name
    std::string value;  // as the store reports it
  };
  std::vector<Part> parts = {};
  std::string unseen = "the store did not answer";  // why a part is missing; empty: complete

  // Adds a part. `value`: empty if the store does not report it; `otherwise` is then the reason.
  void add(std::string name, std::string value, const std::string& otherwise);
};

// Returns twelve hexadecimal digits, equal for equal parts in any order; empty: a part is missing.
std::string digest_of(const Identity& identity);

// Returns the identity of a file or directory of this machine, equal for all its paths.
Identity identity_of_file(const std::string& path);

}  // namespace dlock
