// SPDX-License-Identifier: MIT
#include "store/redis/reply_reader.hpp"

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

namespace dlock {
namespace {

std::size_t depth_of(const redisReadTask* task) {
  std::size_t depth = 0;
  for (; task != nullptr; task = task->parent)
    ++depth;
  return depth;
}

redisReader* new_reader() {
  redisReader* reader = redisReaderCreate();
  DLOCK_ASSERT(reader != nullptr);
  // Uses hiredis' own functions, except the one that makes arrays. For an array, hiredis reserves
  // room for as many elements as the server announces, and it frees nested arrays by recursion; a
  // hostile server could exhaust memory or stack with either. So `capped` refuses an array that is
  // too long or too deep.
  static const redisReplyObjectFunctions k_hiredis = *reader->fn;
  static redisReplyObjectFunctions capped = [] {
    redisReplyObjectFunctions functions = k_hiredis;
    // `elements` is an int in hiredis 0.14 and a size_t since 1.0.
    functions.createArray = [](const redisReadTask* task, auto elements) -> void* {
      if (static_cast<unsigned long long>(elements) > ReplyReader::k_most_elements) return nullptr;
      if (depth_of(task) > ReplyReader::k_most_depth) return nullptr;
      return k_hiredis.createArray(task, elements);
    };
    return functions;
  }();
  reader->fn = &capped;
  return reader;
}

}  // namespace

bool ReplyView::is_nil() const {
  return reply_ == nullptr || reply_->type == REDIS_REPLY_NIL;
}
bool ReplyView::is_integer() const {
  return reply_ != nullptr && reply_->type == REDIS_REPLY_INTEGER;
}
bool ReplyView::is_string() const {
  return reply_ != nullptr &&
         (reply_->type == REDIS_REPLY_STRING || reply_->type == REDIS_REPLY_STATUS);
}
bool ReplyView::is_array() const {
  return reply_ != nullptr && reply_->type == REDIS_REPLY_ARRAY;
}
bool ReplyView::is_error() const {
  return reply_ != nullptr && reply_->type == REDIS_REPLY_ERROR;
}

long long ReplyView::integer() const {
  return is_integer() ? reply_->integer : 0;
}

std::string_view ReplyView::string() const {
  if ((!is_string() && !is_error()) || reply_->str == nullptr) return {};
  return {reply_->str, reply_->len};
}

std::size_t ReplyView::size() const {
  return is_array() ? reply_->elements : 0;
}

ReplyView ReplyView::operator[](std::size_t i) const {
  return i < size() ? ReplyView(reply_->element[i]) : ReplyView();
}

void Reply::Free::operator()(redisReply* reply) const {
  freeReplyObject(reply);
}

void ReplyReader::Free::operator()(redisReader* reader) const {
  redisReaderFree(reader);
}

ReplyReader::ReplyReader() : reader_(new_reader()) {}

Result<void> ReplyReader::feed(std::string_view bytes) {
  pending_ += bytes.size();
  if (pending_ > k_most_bytes) return Error{Errc::protocol, "sent an answer over 4 MiB"};
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    return Error{Errc::protocol, "sent an answer that cannot be read"};
  }
  return {};
}

Result<std::optional<Reply>> ReplyReader::next() {
  void* found = nullptr;
  if (redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
    if (reader_->err == REDIS_ERR_OOM) {
      return Error{Errc::protocol, "sent an answer with too many elements, or too deep"};
    }
    return Error{Errc::protocol, "sent an answer that is not Redis' protocol"};
  }
  if (found == nullptr) return std::optional<Reply>();
  pending_ = reader_->len - reader_->pos;
  return std::optional<Reply>(Reply(static_cast<redisReply*>(found)));
}

bool ReplyReader::empty() const {
  return pending_ == 0;
}

}  // namespace dlock
