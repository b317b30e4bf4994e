// SPDX-License-Identifier: MIT
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

TEST_CASE("the contract is tried on every store") {
  std::vector<std::string> names;
  for (const Store& store : stores())
    names.push_back(store.name);
  // A store is a folder of src/store.
  using All = std::vector<std::string>;
  CHECK(names == All{"memory",
                     "local",
                     "sqlite",
                     "redis",
                     "quorum",
                     "postgres",
                     "mysql",
                     "etcd",
                     "zookeeper"});
}

}  // namespace dlock::contract
