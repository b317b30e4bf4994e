// SPDX-License-Identifier: MIT
#include "base/base64.hpp"

#include <doctest/doctest.h>

#include <string>

namespace dlock {
namespace {

TEST_CASE("base64: the samples of RFC 4648, there and back") {
  const auto same = [](const std::string& bytes, const std::string& text) {
    CHECK(base64_encode(bytes) == text);
    CHECK(base64_decode(text) == bytes);
  };
  same("", "");
  same("f", "Zg==");
  same("fo", "Zm8=");
  same("foo", "Zm9v");
  same("foob", "Zm9vYg==");
  same("fooba", "Zm9vYmE=");
  same("foobar", "Zm9vYmFy");
}

TEST_CASE("base64: every byte comes back, at every place") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    for (const char* const before : {"", "x", "yz"}) {
      const std::string some = before + std::string(1, static_cast<char>(i));
      CHECK(base64_decode(base64_encode(some)) == some);
    }
    bytes += static_cast<char>(i);
  }
  CHECK(base64_decode(base64_encode(bytes)) == bytes);
  CHECK(base64_encode("\xfb\xff\xfe") == "+//+");
}

TEST_CASE("base64: what no bytes are written as is refused") {
  for (const char* const text : {"Z",
                                 "Zg",
                                 "Zg=",
                                 "Zm8",
                                 "Zg===",
                                 "=",
                                 "====",
                                 "Z===",
                                 "Zg==Zg==",
                                 "Zg=v",
                                 "Zm9v\n",
                                 "Zm 9",
                                 "Zm-_",
                                 "Zh==",
                                 "Zm9=",
                                 "Zm9vZ"}) {
    CAPTURE(text);
    CHECK_FALSE(base64_decode(text).has_value());
  }
}

}  // namespace
}  // namespace dlock
