// SPDX-License-Identifier: MIT
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>

#include "contract/lock_store_contract.hpp"
#include "support/installed.hpp"

int main(int argc, char** argv) {
  dlock::test::find_system_programs();
  if (const std::string text = dlock::contract::missing_servers(); !text.empty()) {
    std::cout << "ERROR: " << text << '\n';
    return 1;
  }
  return doctest::Context(argc, argv).run();
}
