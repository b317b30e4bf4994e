// SPDX-License-Identifier: MIT
// HttpReader: parses the bytes of an HTTP/1.1 connection into answers, in their order. It moves no
// bytes and has no clock.
//
// An answer may be a stream that ends only when the server ends it; take_lines() returns the part
// received so far. After an error the connection is unusable. Limits: 80 KiB for a head, 4 MiB for
// a body or a line.
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
  bool last = false;  // the server closes the connection after this answer
};

class HttpReader {
 public:
  HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;
  HttpReader(HttpReader&&) noexcept;
  HttpReader& operator=(HttpReader&&) noexcept;
  ~HttpReader();

  // Takes received bytes. Errc::protocol: the bytes are no HTTP answer. The error's text lacks its
  // subject, the server: "gave an answer that …".
  Result<void> feed(std::string_view bytes);
  // Notes the end of the connection. Returns whether that completes an answer without a length.
  bool end();

  // Removes and returns the next complete answer; nullopt: no answer is complete.
  std::optional<HttpAnswer> next();
  // Returns whether no answer has begun and no answer waits for next().
  bool empty() const;

  // Removes and returns the complete body lines received so far of the current answer (status 200
  // only).
  std::vector<std::string> take_lines();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace dlock
