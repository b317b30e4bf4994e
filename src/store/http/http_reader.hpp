// SPDX-License-Identifier: MIT
// HttpReader: from the bytes of an HTTP/1.1 connection to its answers, in their order. It moves no
// bytes and knows no clock.
//
// An answer may be a stream, which ends only when its server says so: take_lines() has what has
// come of it. After an error the connection is of no use. Bounds: a head of 80 KiB, a body or a
// line of 4 MiB.
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
  bool last = false;  // the server closes the connection behind it
};

class HttpReader {
 public:
  HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;
  HttpReader(HttpReader&&) noexcept;
  HttpReader& operator=(HttpReader&&) noexcept;
  ~HttpReader();

  // Errc::protocol, with what follows "the server …".
  Result<void> feed(std::string_view bytes);
  // The stream of bytes has ended. True: that completes an answer, one without a length.
  bool end();

  // The next complete answer; nothing: none is there yet.
  std::optional<HttpAnswer> next();
  // No answer has begun, and none is left to take.
  bool empty() const;

  // Of the answer that is next, complete or not, if its status is 200: the complete lines that have
  // come of its body. They are then no part of it.
  std::vector<std::string> take_lines();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace dlock
