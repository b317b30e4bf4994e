// SPDX-License-Identifier: MIT
// The identity of a store, a list of facts about it. Two clients whose lists are equal use the same
// locks. If a fact differs, their locks do not exclude each other. dlock doctor prints the list as
// one short word, so that two hosts can be compared.
#pragma once

#include <string>
#include <vector>

namespace dlock {

struct Identity {
  struct Part {
    std::string name;   // such as "server"; several parts may have the same name
    std::string value;  // the value that the store reports
  };
  std::vector<Part> parts = {};
  // Why a part is missing; empty: no part is missing.
  std::string unseen = "the store did not answer";

  // Adds a part. If the store does not report it, `value` is empty, and `otherwise` says why.
  void add(std::string name, std::string value, const std::string& otherwise);
};

// Returns twelve hexadecimal digits. They are equal if the parts are equal, in whatever order.
// Empty: a part is missing.
std::string digest_of(const Identity& identity);

// Returns the identity of a file or directory of this machine. It is the same for all paths that
// lead to the file.
Identity identity_of_file(const std::string& path);

}  // namespace dlock
