// SPDX-License-Identifier: MIT
// What is the same for all who share the locks of a store: who differs in a part of it excludes no
// holder there. Printed by dlock doctor, so that two hosts can be compared by one short word.
#pragma once

#include <string>
#include <vector>

namespace dlock {

struct Identity {
  struct Part {
    std::string name;   // "server"; several may have one name
    std::string value;  // as the store says it
  };
  std::vector<Part> parts = {};
  std::string unseen = "the store did not answer";  // why a part is missing; empty: none is

  // `value` is empty where the store does not say it: `otherwise` is why.
  void add(std::string name, std::string value, const std::string& otherwise);
};

// Twelve hexadecimal digits, the same for the same parts in any order; empty: a part is missing.
std::string digest_of(const Identity& identity);

// Of a file or a directory of this machine, by whatever path it is reached.
Identity identity_of_file(const std::string& path);

}  // namespace dlock
