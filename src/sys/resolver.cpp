// SPDX-License-Identifier: MIT
#include "sys/resolver.hpp"

#include "base/text.hpp"
#include "sys/name_lookup.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace dlock {
namespace {

using Addresses = std::vector<SocketAddress>;
using Found = Result<Addresses>;

SocketAddress v4_address(const in_addr& at, std::uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr = at;
  v4.sin_port = htons(port);
  return SocketAddress::of(&v4, sizeof v4);
}

SocketAddress v6_address(const in6_addr& at, unsigned interface, std::uint16_t port) {
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = at;
  v6.sin6_port = htons(port);
  v6.sin6_scope_id = interface;
  return SocketAddress::of(&v6, sizeof v6);
}

Error cannot_find(const std::string& host, const Error& why) {
  return {why.code, "cannot find host " + in_quotes(host) + ": " + why.text};
}

// Returns the address that `host` spells; empty if `host` is a name.
Found numeric(const std::string& host, std::uint16_t port) {
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return Addresses{v4_address(v4, port)};
  const auto percent = host.find('%');
  in6_addr v6{};
  if (::inet_pton(AF_INET6, host.substr(0, percent).c_str(), &v6) != 1) return Addresses{};
  if (percent == std::string::npos) return Addresses{v6_address(v6, 0, port)};
  const std::string name = host.substr(percent + 1);
  const unsigned interface = ::if_nametoindex(name.c_str());
  if (interface != 0) return Addresses{v6_address(v6, interface, port)};
  return cannot_find(
      host, {Errc::no_such_host, "this machine has no network interface " + in_quotes(name)});
}

// Returns whether the name is local: DNS is never asked for it (RFC 6761, 6.3).
bool is_local(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return host == "localhost" || host.ends_with(".localhost");
}

Found find_local(const std::string& host,
                 std::uint16_t port,
                 Time limit,
                 const Interrupt* interrupt) {
  auto found = look_up_in_hosts(host, port, limit, interrupt);
  if (found || found.error().code == Errc::cancelled) return found;
  return Addresses{v4_address({htonl(INADDR_LOOPBACK)}, port),
                   v6_address(in6addr_loopback, 0, port)};
}

// The addresses of names that this process has looked up. Their number is limited, because a server
// may name ever new hosts.
class Memory {
 public:
  void learn(const std::string& host, std::uint16_t port, const Addresses& addresses) {
    const std::lock_guard lock(mutex_);
    if (found_.size() >= k_most_names) found_.clear();
    found_[{host, port}] = addresses;
  }
  Addresses recall(const std::string& host, std::uint16_t port) {
    const std::lock_guard lock(mutex_);
    const auto known = found_.find({host, port});
    return known != found_.end() ? known->second : Addresses{};
  }
  void note(const SocketAddress& address, bool silent) {
    const std::lock_guard lock(mutex_);
    std::erase(silent_, address);
    if (silent) silent_.push_back(address);
    if (silent_.size() > k_most_silent) silent_.erase(silent_.begin());
  }
  void put_silent_last(Addresses& addresses) {
    const std::lock_guard lock(mutex_);
    std::stable_partition(addresses.begin(), addresses.end(), [&](const SocketAddress& one) {
      return std::find(silent_.begin(), silent_.end(), one) == silent_.end();
    });
  }

 private:
  static constexpr std::size_t k_most_names = 256;
  static constexpr std::size_t k_most_silent = 64;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::uint16_t>, Addresses> found_;
  std::vector<SocketAddress> silent_;
};

Memory& memory() {
  static Memory all;
  return all;
}

}  // namespace

std::string numeric_text(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  unsigned interface = 0;
  if (address.family() == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr;
  } else {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    bytes = &v6->sin6_addr;
    interface = v6->sin6_scope_id;
  }
  if (::inet_ntop(address.family(), bytes, text.data(), text.size()) == nullptr) return "?";
  std::array<char, IF_NAMESIZE> name{};
  const bool named = interface != 0 && ::if_indextoname(interface, name.data()) != nullptr;
  return text.data() + (named ? "%" + std::string(name.data()) : "");
}

Found resolve(const std::string& host, std::uint16_t port, Time limit, const Interrupt* interrupt) {
  auto known = numeric(host, port);
  if (!known || !known->empty()) return known;
  const Time now = BootClock::now();
  const Time half = now + (limit - now) / 2;
  auto found = is_local(host) ? find_local(host, port, half, interrupt)
                              : look_up(host, port, half, interrupt);
  if (found) {
    memory().learn(host, port, *found);
  } else {
    const Errc code = found.error().code;
    auto before = memory().recall(host, port);
    const bool passes =
        code == Errc::timed_out || code == Errc::unavailable || code == Errc::no_such_host;
    if (!passes || before.empty()) return cannot_find(host, found.error());
    found = std::move(before);
  }
  memory().put_silent_last(*found);
  return found;
}

void note_silence(const SocketAddress& address, bool silent) {
  memory().note(address, silent);
}

}  // namespace dlock
