// SPDX-License-Identifier: MIT
#include "store/mysql/my_password.hpp"

#include "sys/tls_crypto.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/has.hpp"

namespace dlock {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 0xfU];
  }
  return text;
}

std::string bytes_of(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

TEST_CASE("SHA-256 has the digests of FIPS 180-2") {
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// Computed by Python's hashlib; the nonce is the bytes 1 to 20.
TEST_CASE("the proof of a password is SHA-256 over its digests and the nonce") {
  const std::string nonce = bytes_of("0102030405060708090a0b0c0d0e0f1011121314");
  CHECK(hex(sha2_proof("p\u00e4ssword", nonce)) ==
        "8d5d2626bc5659d3928b225540de0f42343166209c7bc80438c5b05961466774");
  CHECK(sha2_proof("", nonce).empty());
}

TEST_CASE("an RSA key that is none is no reason to show a password") {
  const auto sealed = sealed_password("s3cret", std::string(20, 'n'), "no key");
  REQUIRE_FALSE(sealed.has_value());
  CHECK(sealed.error().code == Errc::protocol);
  CHECK_FALSE(test::has(sealed.error().text, "s3cret"));
}

}  // namespace
}  // namespace dlock
