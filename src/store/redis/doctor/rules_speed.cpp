// SPDX-License-Identifier: MIT
// Rules about speed and connections: the clock, the times of answers, and limits of the server.
#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/redis/doctor/rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace dlock::doctor {

namespace {

using namespace std::chrono_literals;

// Drift of a clock that the computation of the lease allows for.
constexpr double k_most_drift = 0.01;
constexpr long long k_mebibyte = 1 << 20;

std::string share_text(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", share * 100);
  return text.data();
}

// Returns whether the setting client-output-buffer-limit has a limit below 1 MiB for this class of
// clients. The setting has the form "normal 0 0 0 slave … pubsub 33554432 8388608 60". Zero means
// that there is no limit.
bool has_small_limit(std::string_view limits, std::string_view of_class) {
  const auto words = split(limits, ' ');
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i] != of_class) continue;
    for (const std::size_t at : {i + 1, i + 2}) {
      long long bytes = 0;
      std::from_chars(words[at].data(), words[at].data() + words[at].size(), bytes);
      if (bytes > 0 && bytes < k_mebibyte) return true;
    }
  }
  return false;
}

}  // namespace

Duration percentile(std::vector<Duration> all, int percent) {
  if (all.empty()) return Duration::zero();
  std::sort(all.begin(), all.end());
  const std::size_t at = (all.size() - 1) * static_cast<std::size_t>(percent) / 100;
  return percent >= 99 ? all[std::min(all.size() - 1, at + 1)] : all[at];
}

Finding judge_clock(const ServerFacts& server, const Terms& /*terms*/) {
  if (!server.clock) return not_seen(server.clock.why());
  const double off = std::abs(server.clock->rate - 1);
  if (off > k_most_drift + server.clock->uncertainty) {
    return broken("its clock differs by " + share_text(off) + " from this machine's",
                  "leases may end there before they end here: 1 % is allowed for",
                  "mend the clock of the machine that is wrong (NTP, the virtual machine's host)");
  }
  if (off + server.clock->uncertainty > k_most_drift) {
    return not_seen("its answers are too slow to compare clocks");
  }
  return good("its clock runs like this machine's");
}

Finding judge_clocks(const SetFacts& set) {
  const ServerFacts* first = nullptr;
  Duration most{};
  for (const ServerFacts& server : set.servers) {
    if (!server.clock) continue;
    if (first == nullptr) first = &server;
    most = std::max(most, std::chrono::abs(server.clock->ahead - first->clock->ahead));
  }
  if (most <= 1s) return good("the clocks of the servers agree");
  return warning("the clocks of the servers differ by " + format_duration(most),
                 "fencing tokens can go back at a failover",
                 "keep them with NTP");
}

Finding judge_latency(const ServerFacts& server, const Terms& terms) {
  if (!server.latency) return not_seen(server.latency.why());
  std::vector<Duration> all = server.latency->pings;
  all.insert(all.end(), server.latency->scripts.begin(), server.latency->scripts.end());
  if (all.empty()) return not_seen("there was no time to measure");
  return judge_answers(percentile(all, 50),
                       percentile(all, 99),
                       terms.lease.ttl(),
                       "; a connection " + fine_duration(percentile(server.latency->connects, 50)));
}

Finding judge_slow(const ServerFacts& server, const Terms& terms) {
  if (!server.slow_log) return not_seen(server.slow_log.why());
  for (const Slow& command : *server.slow_log) {
    if (command.took <= terms.lease.ttl() / 20) continue;
    return warning("SLOWLOG: " + in_quotes(command.what) + " took " + format_duration(command.took),
                   "while it runs no lease is renewed",
                   "replace it (SCAN for KEYS), or give dlock a server of its own; then "
                   "SLOWLOG RESET");
  }
  return good("no command blocked it for long");
}

Finding judge_refusals(const ServerFacts& server, const Terms& /*terms*/) {
  if (!server.info) return not_seen(server.info.why());
  for (const std::string_view error : {"OOM", "MISCONF", "NOREPLICAS"}) {
    const auto found = server.info->find("errorstat_" + std::string(error));
    if (found == server.info->end()) continue;
    return warning(
        "it has refused writes with " + std::string(error) + " (" + printable(found->second) + ")",
        "a renewal that is refused for long ends the command",
        "mend the cause, then CONFIG RESETSTAT");
  }
  return good("it has refused no write");
}

Finding judge_clients(const ServerFacts& server, const Terms& /*terms*/) {
  const auto now = number_of(server.info, "connected_clients");
  auto most = number_of(server.info, "maxclients");
  if (!most) most = number_of(server.config, "maxclients");
  if (!now || !most) return not_seen(now ? most.why() : now.why());
  const std::string seen =
      std::to_string(*now) + " of " + std::to_string(*most) + " clients are connected";
  if (*now * 5 <= *most * 4) return good(seen);
  return warning(seen,
                 "at the limit no connection is accepted: a holder cannot reconnect",
                 "raise maxclients; a waiter takes two connections");
}

Finding judge_idle(const ServerFacts& server, const Terms& /*terms*/) {
  const auto timeout = number_of(server.config, "timeout");
  if (!timeout) return not_seen(timeout.why());
  if (*timeout > 0) {
    return warning("timeout is " + std::to_string(*timeout),
                   "it closes connections of holders and waiters that are idle for so many seconds",
                   "CONFIG SET timeout 0, and in redis.conf");
  }
  const auto keepalive = number_of(server.config, "tcp-keepalive");
  if (keepalive && *keepalive == 0) {
    return warning("tcp-keepalive is 0",
                   "a firewall may forget connections of waiters without a word",
                   "CONFIG SET tcp-keepalive 300, and in redis.conf");
  }
  return good("idle connections stay");
}

Finding judge_buffers(const ServerFacts& server, const Terms& /*terms*/) {
  const auto limits = field_of(server.config, "client-output-buffer-limit");
  if (!limits) return not_seen(limits.why());
  const std::string cut = "connections that get much at once are closed";
  if (has_small_limit(*limits, "pubsub")) {
    return warning("client-output-buffer-limit of pubsub is below 1mb",
                   cut,
                   "CONFIG SET client-output-buffer-limit \"pubsub 32mb 8mb 60\"");
  }
  const auto bulk = number_of(server.config, "proto-max-bulk-len");
  if (bulk && *bulk < k_mebibyte) {
    return warning("proto-max-bulk-len is " + std::to_string(*bulk),
                   "long scripts and lists of names are refused",
                   "CONFIG SET proto-max-bulk-len 512mb");
  }
  const auto memory = field_of(server.config, "maxmemory-clients");
  if (memory && *memory != "0") {
    return warning("maxmemory-clients is " + printable(*memory),
                   "holders and waiters may be disconnected to free memory",
                   "CONFIG SET maxmemory-clients 0");
  }
  return good("buffers are large enough");
}

}  // namespace dlock::doctor
