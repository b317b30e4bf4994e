// SPDX-License-Identifier: MIT
#include "base/secret.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <ostream>

namespace dlock {

namespace {
template <class T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};
}  // namespace

TEST_CASE("a secret is only what reveal() gives") {
  const Secret secret(std::string("hunter2"));
  CHECK(secret.reveal() == "hunter2");
  CHECK_FALSE(secret.empty());
  CHECK(Secret().empty());
}

TEST_CASE("a secret can be neither printed nor turned into a string by accident") {
  static_assert(!Printable<Secret>);
  static_assert(!std::convertible_to<Secret, std::string>);
  static_assert(!std::convertible_to<std::string, Secret>);
  CHECK(Printable<std::string>);
}

}  // namespace dlock
