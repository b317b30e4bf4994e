// SPDX-License-Identifier: MIT
// HttpReader: turns the bytes of an HTTP/1.1 connection into its answers, in their order. It moves
// no bytes and knows no clock.
//
// An answer may be a stream, which ends only when its server says so: take_lines() returns the part
// received so far. After an error the connection is of no use. Bounds: a head of 80 KiB, a body or
// a line of 4 MiB.
#pragma once

#include "base/result.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct HttpAnswer {
  int status = 0;
  std::string body;
  bool last = false;  // the server closes the connection after it
};

class HttpReader {
 public:
  HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;
  HttpReader(HttpReader&&) noexcept;
  HttpReader& operator=(HttpReader&&) noexcept;
  ~HttpReader();

  // Errc::protocol; the text follows "the server …".
  Result<void> feed(std::string_view bytes);
  // The stream of bytes has ended. True: the end completes an answer without a length.
  bool end();

  // The next complete answer; nothing: it is not complete yet.
  std::optional<HttpAnswer> next();
  // No answer has begun, and no answer is left to take.
  bool empty() const;

  // Removes and returns the complete body lines received so far of the current answer (status 200
  // only).
  std::vector<std::string> take_lines();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace dlock
