// SPDX-License-Identifier: MIT
// FakePeer: a listening socket of this process, for tests of the client's side of a connection.
// Each of its calls is bounded by ten seconds, so that a broken test fails instead of hanging.
#pragma once

#include "base/assert.hpp"
#include "base/boot_clock.hpp"
#include "sys/unique_fd.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dlock::test {

// Time limits: soon() for a test that waits for the limit, ample() for one that never reaches it.
inline Time soon() {
  return BootClock::now() + std::chrono::milliseconds(50);
}
inline Time ample() {
  return BootClock::now() + std::chrono::seconds(10);
}

inline bool readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, 10'000) == 1;
}

inline void write_all(const UniqueFd& fd, std::string_view bytes) {
  // It is no failure of the peer if the client has closed the connection.
  [[maybe_unused]] const auto n = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// Reads until `part` has come or the stream has ended, and returns everything read.
inline std::string read_until(const UniqueFd& fd, std::string_view part) {
  std::string all;
  std::array<char, 4096> buffer{};
  while (part.empty() || all.find(part) == std::string::npos) {
    if (!readable(fd.get())) break;
    const auto n = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) break;
    all.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return all;
}

class FakePeer {
 public:
  // Listens on a free port of a loopback address. ok() is false if the address family is not
  // available.
  explicit FakePeer(int family = AF_INET) : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    if (family == AF_INET) bind_to(&v4, sizeof v4);
    if (family == AF_INET6) bind_to(&v6, sizeof v6);
    sockaddr_in6 bound{};  // the port has the same place in both families
    socklen_t size = sizeof bound;
    if (ok_) ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    port_ = ntohs(bound.sin6_port);
  }

  explicit FakePeer(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    DLOCK_ASSERT(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.data(), path.size());
    bind_to(&address, sizeof address);
  }

  bool ok() const { return ok_; }
  std::uint16_t port() const { return port_; }
  int fd() const { return fd_.get(); }

  UniqueFd accept() const {
    if (!readable(fd_.get())) return {};
    return UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  void bind_to(const void* address, std::size_t size) {
    ok_ = ::bind(fd_.get(), static_cast<const sockaddr*>(address), static_cast<socklen_t>(size)) ==
              0 &&
          ::listen(fd_.get(), 16) == 0;
  }

  UniqueFd fd_;
  bool ok_ = false;
  std::uint16_t port_ = 0;
};

// A port that refuses connections: it is bound, but no process listens on it.
struct DeafPort {
  DeafPort() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    DLOCK_ASSERT(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    socklen_t size = sizeof address;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  UniqueFd fd;
  std::uint16_t port = 0;
};

}  // namespace dlock::test
