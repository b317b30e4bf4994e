// SPDX-License-Identifier: MIT
#include "sys/resolver.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "sys/fiber.hpp"
#include "sys/poll_limit.hpp"

#include <ares.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace dlock {
namespace {

using Addresses = std::vector<SocketAddress>;

SocketAddress from_bytes(const void* bytes, std::size_t size) {
  SocketAddress address;
  std::memcpy(&address.storage, bytes, size);
  address.length = static_cast<socklen_t>(size);
  return address;
}

// Empty if `host` is a name.
Addresses numeric(const std::string& host, std::uint16_t port) {
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    return {from_bytes(&v4, sizeof v4)};
  }
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    return {from_bytes(&v6, sizeof v6)};
  }
  return {};
}

// What the callback of one lookup leaves behind. It must outlive the channel, which calls back once
// more while it is destroyed.
struct Lookup {
  bool done = false;
  int status = ARES_SUCCESS;
  Addresses addresses;
};

void on_answer(void* arg, int status, int /*timeouts*/, ares_addrinfo* found) {
  auto& lookup = *static_cast<Lookup*>(arg);
  lookup.done = true;
  lookup.status = status;
  if (found == nullptr) return;
  for (const auto* node = found->nodes; node != nullptr; node = node->ai_next) {
    const auto size = static_cast<std::size_t>(node->ai_addrlen);
    if (size <= sizeof(sockaddr_storage)) {
      lookup.addresses.push_back(from_bytes(node->ai_addr, size));
    }
  }
  ares_freeaddrinfo(found);
}

struct Destroy {
  void operator()(ares_channel channel) const { ares_destroy(channel); }
};
using Channel = std::unique_ptr<std::remove_pointer_t<ares_channel>, Destroy>;

// ares_init also works without ares_library_init on Unix, but is then not said to be thread-safe.
int start_library() {
  static const int status = ares_library_init(ARES_LIB_INIT_ALL);
  return status;
}

// Only "there is no such name" is an answer; all else is trouble of the name service, and may pass.
Error cannot_find(const std::string& host, int status) {
  return {status == ARES_ENOTFOUND ? Errc::no_such_host : Errc::unavailable,
          "cannot find host " + in_quotes(host) + ": " + in_mid_sentence(ares_strerror(status))};
}

struct PollSet {
  std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> sockets{};
  std::array<pollfd, ARES_GETSOCK_MAXNUM + 1> polled{};  // the interrupt comes last
  std::size_t count = 0;
};

PollSet sockets_of(ares_channel channel, const Interrupt* interrupt) {
  PollSet set;
  const auto mask = static_cast<unsigned>(
      ares_getsock(channel, set.sockets.data(), static_cast<int>(set.sockets.size())));
  for (unsigned i = 0; i < ARES_GETSOCK_MAXNUM; ++i) {
    int events = 0;
    if ((mask >> i & 1U) != 0) events |= POLLIN;
    if ((mask >> (i + ARES_GETSOCK_MAXNUM) & 1U) != 0) events |= POLLOUT;
    if (events == 0) continue;
    set.polled[set.count++] = {set.sockets[i], static_cast<short>(events), 0};
  }
  set.polled[set.count] = polled(interrupt);
  return set;
}

// The next moment at which c-ares wants to send again or to give up, if that is before the limit.
int next_ms(ares_channel channel, Time limit) {
  const int ms = poll_ms(limit, BootClock::now());
  timeval most{ms / 1000, (ms % 1000) * 1000L};
  timeval space{};
  const timeval* next = ares_timeout(channel, &most, &space);
  return static_cast<int>(next->tv_sec * 1000 + (next->tv_usec + 999) / 1000);
}

void process(ares_channel channel, const PollSet& set) {
  bool any = false;
  for (std::size_t i = 0; i < set.count; ++i) {
    const auto& p = set.polled[i];
    if (p.revents == 0) continue;
    any = true;
    const bool trouble = (p.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    const bool in = (p.revents & POLLIN) != 0 || trouble;
    const bool out = (p.revents & POLLOUT) != 0;
    ares_process_fd(channel, in ? p.fd : ARES_SOCKET_BAD, out ? p.fd : ARES_SOCKET_BAD);
  }
  if (!any) ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);  // its own time limits
}

Result<void> drive(ares_channel channel, const Lookup& lookup, Time limit, const Interrupt* stop) {
  while (!lookup.done) {
    if (BootClock::now() >= limit) return Error{Errc::timed_out, ""};
    PollSet set = sockets_of(channel, stop);
    const int n = wait_ready(set.polled.data(), set.count + 1, next_ms(channel, limit));
    if (n < 0 && errno != EINTR) return Error{Errc::system, "cannot wait for an answer"};
    if (n < 0) continue;
    process(channel, set);
    if (!lookup.done && ends_call(stop, set.polled[set.count])) return Error{Errc::cancelled, ""};
  }
  return {};
}

}  // namespace

const sockaddr* SocketAddress::get() const {
  return reinterpret_cast<const sockaddr*>(&storage);
}

std::string numeric_text(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address.family() == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr;
  } else {
    bytes = &reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr;
  }
  return ::inet_ntop(address.family(), bytes, text.data(), text.size()) != nullptr ? text.data()
                                                                                   : "?";
}

Result<std::vector<SocketAddress>> resolve(const std::string& host,
                                           std::uint16_t port,
                                           Time limit,
                                           const Interrupt* interrupt) {
  if (auto addresses = numeric(host, port); !addresses.empty()) return addresses;

  const Time started = BootClock::now();
  Lookup lookup;
  ares_channel raw = nullptr;
  int status = start_library();
  if (status == ARES_SUCCESS) status = ares_init(&raw);
  if (status != ARES_SUCCESS) return cannot_find(host, status);
  const Channel channel(raw);

  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = ARES_AI_NUMERICSERV;
  ares_getaddrinfo(raw, host.c_str(), std::to_string(port).c_str(), &hints, on_answer, &lookup);
  if (const auto driven = drive(raw, lookup, limit, interrupt); !driven) {
    const Errc code = driven.error().code;
    const std::string what = "cannot find host " + in_quotes(host) + ": ";
    if (code == Errc::timed_out) return over_limit(what + "no answer", started, limit);
    if (code == Errc::cancelled) return Error{code, what + "interrupted"};
    return Error{code, what + driven.error().text};
  }
  if (lookup.status != ARES_SUCCESS) return cannot_find(host, lookup.status);
  if (lookup.addresses.empty()) return cannot_find(host, ARES_ENODATA);
  return std::move(lookup.addresses);
}

}  // namespace dlock
