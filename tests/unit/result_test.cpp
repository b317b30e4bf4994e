// SPDX-License-Identifier: MIT
#include "base/result.hpp"

#include <doctest/doctest.h>

#include <memory>

namespace dlock {

TEST_CASE("a result is a value or an error") {
  Result<int> good = 7;
  CHECK(good);
  CHECK(good.has_value());
  CHECK(*good == 7);
  *good = 8;
  CHECK(good.value() == 8);

  const Result<int> bad = Error{Errc::denied, "cannot do it: no right"};
  CHECK_FALSE(bad);
  CHECK(bad.error().code == Errc::denied);
  CHECK(bad.error().text == "cannot do it: no right");
}

TEST_CASE("a result can carry a value that cannot be copied") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(*result);
  CHECK(*taken == 5);
}

TEST_CASE("a result of an Error type is not confused with its error") {
  const Result<std::string> text = std::string("a value");
  CHECK(text.has_value());
  CHECK(text->size() == 7);
}

TEST_CASE("a result without a value is fine or an error") {
  const Result<void> fine;
  CHECK(fine);
  const Result<void> bad = Error{Errc::timed_out, "no answer"};
  CHECK_FALSE(bad.has_value());
  CHECK(bad.error().code == Errc::timed_out);
}

}  // namespace dlock
