// SPDX-License-Identifier: MIT
// Bytes of a hostile server through the reader that the client uses. Build with clang's
// -fsanitize=fuzzer,address, or link any main that calls LLVMFuzzerTestOneInput.
#include "store/redis/error_reply.hpp"
#include "store/redis/reply_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

// Looks at all of an answer, so that a bad pointer or length in it is seen.
std::size_t weigh(const dlock::ReplyView& view) {
  std::size_t sum = static_cast<std::size_t>(view.integer() & 1);
  for (const char c : view.string())
    sum += static_cast<unsigned char>(c);
  if (view.is_error()) sum += static_cast<std::size_t>(dlock::classify_error(view.string()).code);
  for (std::size_t i = 0; i < view.size() + 1; ++i) {
    const auto element = view[i];
    // One past the end is nil and has no elements, which ends the recursion.
    if (i < view.size()) sum += weigh(element);
  }
  return sum;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  dlock::ReplyReader reader;
  // The first byte says how the rest is cut, as a network cuts it.
  const std::size_t piece = std::size_t{1} + data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  volatile std::size_t sum = 0;
  while (!rest.empty()) {
    const auto part = rest.substr(0, piece);
    rest.remove_prefix(part.size());
    if (!reader.feed(part)) return 0;
    for (;;) {
      const auto reply = reader.next();
      if (!reply) return 0;
      if (!reply->has_value()) break;
      sum = sum + weigh((*reply)->view());
    }
  }
  return 0;
}
