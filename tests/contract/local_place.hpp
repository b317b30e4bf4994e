// SPDX-License-Identifier: MIT
// A directory for locks that is removed with its test.
#pragma once

#include "store/open_store.hpp"

#include <memory>
#include <string>

#include "contract/lock_store_contract.hpp"
#include "support/temp_dir.hpp"

namespace dlock::contract {

inline Result<std::unique_ptr<LockStore>> open_at(const std::string& url,
                                                  const Interrupt* interrupt = nullptr) {
  return open_store({.url = url, .prefix = {}, .password = {}, .interrupt = interrupt});
}

struct Place {
  test::TempDir directory;
  std::string url() const { return "local://" + directory.path(); }
  std::string file(const std::string& name) const { return directory.path() + '/' + name; }
  Client client(const Interrupt* interrupt = nullptr) const {
    const Backing backing{.name = "local", .open = [this](const Interrupt* wake_up) {
                            auto store = open_at(url(), wake_up);
                            REQUIRE(store.has_value());
                            return std::move(*store);
                          }};
    return Client(backing, interrupt);
  }
};

}  // namespace dlock::contract
