// SPDX-License-Identifier: MIT
#include "store/http/http_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/has.hpp"

namespace dlock {
namespace {

const std::string k_one = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none";
const std::string k_two =
    "HTTP/1.1 412 Precondition Failed\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n"
    "2\r\ntw\r\n1\r\no\r\n0\r\nX: y\r\n\r\n";

void fed(HttpReader& reader, std::string_view bytes) {
  REQUIRE(reader.feed(bytes).has_value());
}

TEST_CASE("http: answers come in their order, however their bytes are cut") {
  const std::string all = k_one + k_two + k_one;
  for (std::size_t size = 1; size <= all.size(); ++size) {
    CAPTURE(size);
    HttpReader reader;
    CHECK(reader.empty());
    for (std::size_t from = 0; from < all.size(); from += size) {
      fed(reader, std::string_view(all).substr(from, size));
      CHECK_FALSE(reader.empty());
    }
    for (const auto& [status, body] : {std::pair(200, "one"), {412, "two"}, {200, "one"}}) {
      const auto answer = reader.next();
      REQUIRE(answer.has_value());
      CHECK(answer->status == status);
      CHECK(answer->body == body);
      CHECK_FALSE(answer->last);
    }
    CHECK_FALSE(reader.next().has_value());
    CHECK(reader.empty());
  }
}

TEST_CASE("http: an answer behind which the server hangs up") {
  HttpReader reader;
  fed(reader, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx");
  CHECK(reader.next()->last);

  HttpReader without_length;
  fed(without_length, "HTTP/1.0 400 Bad Request\r\n\r\nno ");
  fed(without_length, "TLS");
  CHECK_FALSE(without_length.next().has_value());
  CHECK(without_length.end());
  const auto answer = without_length.next();
  REQUIRE(answer.has_value());
  CHECK(answer->status == 400);
  CHECK(answer->body == "no TLS");
  CHECK(answer->last);
}

TEST_CASE("http: an answer that is cut off is none") {
  const std::string all = k_one + k_two;
  for (std::size_t size = 0; size < all.size(); ++size) {
    HttpReader reader;
    fed(reader, std::string_view(all).substr(0, size));
    CHECK_FALSE(reader.end());
    CHECK(reader.next().has_value() == (size >= k_one.size()));
    CHECK_FALSE(reader.next().has_value());
  }
}

TEST_CASE("http: a note before the answer is passed over") {
  HttpReader reader;
  fed(reader, "HTTP/1.1 100 Continue\r\n\r\n" + k_one);
  CHECK(reader.next()->status == 200);
}

TEST_CASE("http: the lines of a stream, while it lasts and when it has ended") {
  HttpReader reader;
  fed(reader, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  CHECK(reader.take_lines().empty());
  fed(reader, "4\r\na\nbc\r\n");
  CHECK(reader.take_lines() == std::vector<std::string>{"a"});
  CHECK(reader.take_lines().empty());
  fed(reader, "3\r\nd\n\n\r\n");
  CHECK(reader.take_lines() == std::vector<std::string>{"bcd", ""});
  fed(reader, "3\r\ne\nf\r\n0\r\n\r\n");
  CHECK(reader.take_lines() == std::vector<std::string>{"e"});
  CHECK(reader.next()->body == "f");

  fed(reader, "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nno\n\r\n");
  CHECK(reader.take_lines().empty());
  fed(reader, "0\r\n\r\n");
  CHECK(reader.next()->body == "no\n");
}

TEST_CASE("http: other languages are told apart") {
  for (const char* const bytes :
       {"-ERR unknown command\r\n",
        "HTTP/1.1 twohundred OK\r\n\r\n",
        "\x15\x03\x01\x00\x02\x02\x46",
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    CAPTURE(bytes);
    HttpReader reader;
    const auto result = reader.feed(bytes);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code == Errc::protocol);
    CHECK(test::has(result.error().text, "not HTTP/1.1"));
    CHECK_FALSE(reader.next().has_value());
  }
}

TEST_CASE("http: a head or a body without measure is refused") {
  HttpReader reader;
  fed(reader, "HTTP/1.1 200 OK\r\nX: ");
  CHECK_FALSE(reader.feed(std::string(100'000, 'x')).has_value());

  HttpReader large;
  fed(large, "HTTP/1.1 200 OK\r\nContent-Length: 80000000\r\n\r\n");
  const std::string part(1'000'000, 'x');
  Result<void> result;
  for (int i = 0; i < 70 && result; ++i)
    result = large.feed(part);
  REQUIRE_FALSE(result.has_value());
  CHECK(test::has(result.error().text, "more than 4 MiB"));
}

}  // namespace
}  // namespace dlock
