// SPDX-License-Identifier: MIT
#include "sys/tls_stream.hpp"

#include <algorithm>
#include <array>

namespace dlock {
namespace {

constexpr std::size_t k_most_sealed = std::size_t{16} << 10;  // plain bytes encrypted at a time
constexpr int k_most_fills = 8;  // a bound, as a server could send endless records without data

}  // namespace

Result<void> TlsStream::flush() {
  std::string& bytes = session_.unsent();
  while (!bytes.empty()) {
    const auto n = socket_.send(bytes);
    if (!n) return n.error();
    if (*n == 0) return {};
    bytes.erase(0, *n);
  }
  return {};
}

bool TlsStream::fill() {
  std::array<char, k_most_sealed> sealed;
  const auto n = socket_.receive(sealed.data(), sealed.size());
  if (n && *n == 0) return false;
  const Result<void> fed = n ? session_.feed({sealed.data(), *n}) : n.error();
  if (!fed) end_ = fed.error();
  return true;
}

Result<bool> TlsStream::shake_hands() {
  if (auto sent = flush(); !sent) return sent.error();
  if (has_unsent() || !fill()) return false;
  if (!end_ && !session_.established()) {
    if (auto sent = flush(); !sent) return sent.error();
    return false;
  }
  if (!end_) return true;     // our last message travels with the first request
  const auto told = flush();  // sends the alert that says why we refuse the server
  return *end_;
}

Result<std::size_t> TlsStream::send(std::string_view bytes) {
  if (sealed_ == 0) {
    sealed_ = std::min(bytes.size(), k_most_sealed);
    if (auto done = session_.seal(bytes.substr(0, sealed_)); !done) return done.error();
  }
  if (auto sent = flush(); !sent) return sent.error();
  if (has_unsent()) return std::size_t{0};
  return std::exchange(sealed_, 0);
}

Result<std::size_t> TlsStream::receive(char* buffer, std::size_t size) {
  for (int fills = 0; !pending() && fills < k_most_fills; ++fills) {
    if (!fill()) break;
  }
  std::string& plain = session_.plain();
  if (plain.empty() && end_) return *end_;
  const auto answered = flush();  // answers a key update; a failure shows in the next receive()
  const std::size_t n = plain.copy(buffer, size);
  plain.erase(0, n);
  return n;
}

bool TlsStream::idle() {
  for (int fills = 0; !pending() && fills < k_most_fills; ++fills) {
    if (!fill()) break;
  }
  const auto answered = flush();  // sends a pending key update, if the socket takes it
  return !pending();
}

}  // namespace dlock
