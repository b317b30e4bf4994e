// SPDX-License-Identifier: MIT
// Redis' replies as values: a Reply owns a reply, a ReplyView looks into one, and a ReplyReader
// makes replies from bytes. hiredis does the parsing. Limits are added, so that a hostile or broken
// server cannot exhaust memory or stack: a reply has at most 4 MiB, an array has at most 100000
// elements, and an array is nested in at most six others (hiredis 1 has no such limit, hiredis 0.14
// allows seven).
//
// Every accessor may be called on any reply. A missing element looks like nil. An accessor for a
// number or a text returns 0 or an empty text if the element is of another type.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

struct redisReply;   // NOLINT(readability-identifier-naming): hiredis' name
struct redisReader;  // NOLINT(readability-identifier-naming): hiredis' name

namespace dlock {

// A view is valid as long as the Reply from which it was made.
class ReplyView {
 public:
  ReplyView() = default;
  explicit ReplyView(const redisReply* reply) : reply_(reply) {}

  bool is_nil() const;
  bool is_integer() const;
  bool is_string() const;  // a bulk string or a status such as OK
  bool is_array() const;
  bool is_error() const;

  long long integer() const;        // 0 if the reply is no integer
  std::string_view string() const;  // a string, a status or an error text; otherwise empty
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

// Makes replies from bytes as they arrive. After an error a reader cannot be used any more.
class ReplyReader {
 public:
  static constexpr std::size_t k_most_bytes = std::size_t{4} << 20;
  static constexpr std::size_t k_most_elements = 100000;
  static constexpr std::size_t k_most_depth = 7;

  ReplyReader();

  // Errors are Errc::protocol: the bytes are no reply. The error's text is the end of a sentence:
  // "sent an answer that …".
  Result<void> feed(std::string_view bytes);
  Result<std::optional<Reply>> next();  // nullopt: the next reply is not complete yet
  bool empty() const;                   // true if next() has returned all that was fed

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  std::unique_ptr<redisReader, Free> reader_;
  std::size_t pending_ = 0;  // number of bytes fed that are in no reply that next() has returned
};

}  // namespace dlock
