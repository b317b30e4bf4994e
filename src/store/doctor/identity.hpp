// SPDX-License-Identifier: MIT
// The identity of a store: equal for all who share its locks; clients that differ in a part do not
// exclude each other. Printed by dlock doctor, so that two hosts can be compared by one short word.
#pragma once

#include <string>
#include <vector>

namespace dlock {

struct Identity {
  struct Part {
    std::string name;   // "server"; several parts may have one name
    std::string value;  // as the store says it
  };
  std::vector<Part> parts = {};
  std::string unseen = "the store did not answer";  // why a part is missing; empty: complete

  // `value` is empty if the store does not say it; `otherwise` is then the reason.
  void add(std::string name, std::string value, const std::string& otherwise);
};

// Twelve hexadecimal digits, equal for equal parts in any order; empty: a part is missing.
std::string digest_of(const Identity& identity);

// The identity of a file or directory of this machine, equal for all its paths.
Identity identity_of_file(const std::string& path);

}  // namespace dlock
