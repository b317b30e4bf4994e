// SPDX-License-Identifier: MIT
#include "sys/name_lookup.hpp"

#include "base/errno_text.hpp"
#include "sys/fiber.hpp"
#include "sys/file_bytes.hpp"
#include "sys/poll_limit.hpp"
#include "sys/resolv_conf.hpp"
#include "sys/unique_fd.hpp"

#include <ares.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <type_traits>

namespace dlock {
namespace {

using namespace std::chrono_literals;
using Addresses = std::vector<SocketAddress>;

constexpr Duration k_late = 250ms;
constexpr std::size_t k_most_resolv_conf = std::size_t{64} << 10;

// The result of a query, filled in by its callback. It must outlive the channel of c-ares, which
// calls back once more when it is destroyed.
struct Query {
  bool done = false;
  int status = ARES_SUCCESS;
  Addresses addresses;

  bool found() const { return done && status == ARES_SUCCESS && !addresses.empty(); }
};

void on_answer(void* arg, int status, int /*timeouts*/, ares_addrinfo* found) {
  auto& query = *static_cast<Query*>(arg);
  query.done = true;
  query.status = status;
  if (found == nullptr) return;
  for (const auto* node = found->nodes; node != nullptr; node = node->ai_next) {
    const auto size = static_cast<std::size_t>(node->ai_addrlen);
    if (size <= sizeof(sockaddr_storage))
      query.addresses.push_back(SocketAddress::of(node->ai_addr, size));
  }
  ares_freeaddrinfo(found);
}

// The sockets of c-ares, and the events that each waits for.
struct Sockets {
  std::vector<pollfd> polled;

  static void on_change(void* arg, ares_socket_t fd, int readable, int writable) {
    auto& all = static_cast<Sockets*>(arg)->polled;
    std::erase_if(all, [&](const pollfd& one) { return one.fd == fd; });
    const int events = (readable != 0 ? POLLIN : 0) | (writable != 0 ? POLLOUT : 0);
    if (events != 0) all.push_back({fd, static_cast<short>(events), 0});
  }
};

struct Destroy {
  void operator()(ares_channel channel) const { ares_destroy(channel); }
};
using Channel = std::unique_ptr<std::remove_pointer_t<ares_channel>, Destroy>;

// Initialises c-ares. On Unix it also works without that, but then does not claim to be
// thread-safe.
int start_library() {
  static const int status = ares_library_init(ARES_LIB_INIT_ALL);
  return status;
}

// Reads resolv.conf(5), because c-ares 1.18 does not know "timeout:" and "attempts:".
ResolvConf system_resolv_conf() {
  std::string text;
  if (const UniqueFd file(::open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC)); file)
    read_bytes(file.get(), k_most_resolv_conf, text);
  return read_resolv_conf(text);
}

// Returns the error of a failed search. Only ARES_ENOTFOUND says that the name does not exist; the
// others are trouble of the name service, which may pass.
Error failed(int status) {
  return {status == ARES_ENOTFOUND ? Errc::no_such_host : Errc::unavailable,
          in_mid_sentence(ares_strerror(status))};
}

enum class Where { hosts, everywhere };

class Search {
 public:
  // Begins a search. `search`: how long it may take.
  Result<void> open(Where where, Duration search) {
    const ResolvConf conf = where == Where::hosts ? ResolvConf{} : system_resolv_conf();
    const auto each = patience(search, conf);
    late_ = std::min<Duration>(k_late, each);
    ares_options options{};
    options.timeout = static_cast<int>(each.count());
    options.tries = conf.attempts;
    options.sock_state_cb = &Sockets::on_change;
    options.sock_state_cb_data = &sockets_;
    std::array<char, 2> only_files{"f"};
    options.lookups = only_files.data();
    int chosen = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
    if (where == Where::hosts) chosen |= ARES_OPT_LOOKUPS;
    ares_channel raw = nullptr;
    int status = start_library();
    if (status == ARES_SUCCESS) status = ares_init_options(&raw, &options, chosen);
    if (status != ARES_SUCCESS) return failed(status);
    channel_.reset(raw);
    return {};
  }

  Result<Addresses> run(const std::string& name,
                        std::uint16_t port,
                        Time limit,
                        const Interrupt* interrupt) {
    const Time started = BootClock::now();
    const std::string service = std::to_string(port);
    Time late = started + late_;
    ask(name, service, AF_UNSPEC, both_);
    while (!settled()) {
      const Time now = BootClock::now();
      if (now >= limit) return what_came(over_limit("no answer", started, limit));
      if (now >= late) {
        ask(name, service, AF_INET, v4_);
        ask(name, service, AF_INET6, v6_);
        late = Time::max();
        continue;
      }
      if (auto waited = wait(std::min(late, limit), interrupt); !waited) return waited.error();
    }
    const bool none = both_.status == ARES_SUCCESS && both_.addresses.empty();
    return what_came(failed(none ? ARES_ENODATA : both_.status));
  }

 private:
  void ask(const std::string& name, const std::string& service, int family, Query& query) {
    ares_addrinfo_hints hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = ARES_AI_NUMERICSERV;
    ares_getaddrinfo(channel_.get(), name.c_str(), service.c_str(), &hints, on_answer, &query);
  }

  bool settled() const { return both_.done || v4_.found() || (v4_.done && v6_.found()); }

  Result<Addresses> what_came(Error otherwise) {
    for (Query* const one : {&both_, &v4_, &v6_})
      if (one->found()) return std::move(one->addresses);
    return otherwise;
  }

  // Returns the milliseconds until c-ares wants to send again or to give up, or until `until`.
  int next_ms(Time until) {
    const int ms = poll_ms(until, BootClock::now());
    timeval most{ms / 1000, (ms % 1000) * 1000L};
    timeval space{};
    const timeval* next = ares_timeout(channel_.get(), &most, &space);
    return static_cast<int>(next->tv_sec * 1000 + (next->tv_usec + 999) / 1000);
  }

  Result<void> wait(Time until, const Interrupt* interrupt) {
    std::vector<pollfd> polling = sockets_.polled;  // a copy, as c-ares changes the original
    polling.push_back(polled(interrupt));
    const int n = wait_ready(polling.data(), polling.size(), next_ms(until));
    if (n < 0 && errno == EINTR) return {};
    if (n < 0) return Error{Errc::system, "cannot wait for an answer"};
    const pollfd stop = polling.back();
    polling.pop_back();
    process(polling);
    if (!settled() && ends_call(interrupt, stop)) return Error{Errc::cancelled, "interrupted"};
    return {};
  }

  void process(const std::vector<pollfd>& ready) {
    ares_channel const channel = channel_.get();
    bool any = false;
    for (const pollfd& one : ready) {
      if (one.revents == 0) continue;
      any = true;
      const bool trouble = (one.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
      const bool in = (one.revents & POLLIN) != 0 || trouble;
      const bool out = (one.revents & POLLOUT) != 0;
      ares_process_fd(channel, in ? one.fd : ARES_SOCKET_BAD, out ? one.fd : ARES_SOCKET_BAD);
    }
    // Lets c-ares check its own limits.
    if (!any) ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  }

  Query both_;  // asks for addresses of both kinds, IPv4 and IPv6
  Query v4_;
  Query v6_;
  Sockets sockets_;
  Duration late_{};
  Channel channel_;  // calls back into the members above while it is destroyed
};

Result<Addresses> search(Where where,
                         const std::string& name,
                         std::uint16_t port,
                         Time limit,
                         const Interrupt* interrupt) {
  Search search;
  if (auto opened = search.open(where, limit - BootClock::now()); !opened) return opened.error();
  return search.run(name, port, limit, interrupt);
}

}  // namespace

Result<Addresses> look_up(const std::string& name,
                          std::uint16_t port,
                          Time limit,
                          const Interrupt* interrupt) {
  return search(Where::everywhere, name, port, limit, interrupt);
}

Result<Addresses> look_up_in_hosts(const std::string& name,
                                   std::uint16_t port,
                                   Time limit,
                                   const Interrupt* interrupt) {
  return search(Where::hosts, name, port, limit, interrupt);
}

}  // namespace dlock
