// SPDX-License-Identifier: MIT
// A socket address of any kind: IPv4, IPv6 or a unix path.
#pragma once

#include <sys/socket.h>

#include <cstring>

namespace dlock {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  // Copies an address of `size` bytes. `size` must not exceed sizeof storage.
  static SocketAddress of(const void* bytes, std::size_t size) {
    SocketAddress address;
    std::memcpy(&address.storage, bytes, size);
    address.length = static_cast<socklen_t>(size);
    return address;
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  bool operator==(const SocketAddress& other) const {
    return length == other.length && std::memcmp(&storage, &other.storage, length) == 0;
  }
};

}  // namespace dlock
