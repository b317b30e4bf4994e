// SPDX-License-Identifier: MIT
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

TEST_CASE("the contract is tried on every store") {
  std::vector<std::string> names;
  for (const Backing& backing : backings())
    names.push_back(backing.name);
  // A store is a folder of src/store.
  CHECK(names ==
        std::vector<std::string>{"memory", "local", "sqlite", "postgres", "mysql", "redis"});
}

}  // namespace dlock::contract
