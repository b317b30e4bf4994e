// SPDX-License-Identifier: MIT
// Redis's answers as values: Reply owns an answer, ReplyView looks into one, ReplyReader makes them
// from bytes. hiredis parses; we add the caps that keep a hostile or broken server from costing us
// memory or stack: an answer has at most 4 MiB, an array at most 100000 elements, and an array is
// in at most six others (hiredis 1 has no limit, 0.14 takes seven).
//
// All accessors may be called on any answer: a missing element behaves like nil, an element of
// another kind gives 0 or an empty text.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

struct redisReply;   // NOLINT(readability-identifier-naming): hiredis' name
struct redisReader;  // NOLINT(readability-identifier-naming): hiredis' name

namespace dlock {

// Valid as long as the Reply it came from.
class ReplyView {
 public:
  ReplyView() = default;
  explicit ReplyView(const redisReply* reply) : reply_(reply) {}

  bool is_nil() const;
  bool is_integer() const;
  bool is_string() const;  // a bulk string or a status such as OK
  bool is_array() const;
  bool is_error() const;

  long long integer() const;        // 0 if it is not an integer
  std::string_view string() const;  // for strings, status and errors; else empty
  std::size_t size() const;         // number of elements of an array; else 0
  ReplyView operator[](std::size_t i) const;

 private:
  const redisReply* reply_ = nullptr;
};

class Reply {
 public:
  Reply() = default;
  explicit Reply(redisReply* reply) : reply_(reply) {}

  ReplyView view() const { return ReplyView(reply_.get()); }
  bool is_nil() const { return view().is_nil(); }
  bool is_integer() const { return view().is_integer(); }
  bool is_string() const { return view().is_string(); }
  bool is_array() const { return view().is_array(); }
  bool is_error() const { return view().is_error(); }
  long long integer() const { return view().integer(); }
  std::string_view string() const { return view().string(); }
  std::size_t size() const { return view().size(); }
  ReplyView operator[](std::size_t i) const { return view()[i]; }

 private:
  struct Free {
    void operator()(redisReply* reply) const;
  };
  std::unique_ptr<redisReply, Free> reply_;
};

// After an error a reader stays broken.
class ReplyReader {
 public:
  static constexpr std::size_t k_most_bytes = std::size_t{4} << 20;
  static constexpr std::size_t k_most_elements = 100000;
  static constexpr std::size_t k_most_depth = 7;

  ReplyReader();

  // Errors are Errc::protocol, with the end of a sentence: "sent an answer that …".
  Result<void> feed(std::string_view bytes);
  Result<std::optional<Reply>> next();  // nothing: the answer is not complete yet
  bool empty() const;                   // every fed byte belongs to a complete answer

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  std::unique_ptr<redisReader, Free> reader_;
  std::size_t pending_ = 0;  // bytes fed since the last complete answer ended
};

}  // namespace dlock
