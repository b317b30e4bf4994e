// SPDX-License-Identifier: MIT
// Rules about memory and disk: whether the server keeps what it has acknowledged.
#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/redis/doctor/rules.hpp"

#include <algorithm>

namespace dlock::doctor {

namespace {

constexpr std::string_view k_no_eviction = "noeviction";
constexpr std::string_view k_evict_remedy =
    "CONFIG SET maxmemory-policy noeviction, and in redis.conf; or give dlock a server of its own";

std::string percent(long long part, long long whole) {
  return std::to_string(part * 100 / std::max(1LL, whole)) + " %";
}

Finding judge_room(const ServerFacts& server, long long most) {
  const auto used = number_of(server.info, "used_memory");
  if (!used) return not_seen(used.why());
  if (*used * 10 > most * 9) {
    return warning("noeviction, and " + percent(*used, most) + " of maxmemory are used",
                   "at 100 % new locks and waiters are refused (OOM)",
                   "raise maxmemory, or remove keys");
  }
  return good("maxmemory-policy is noeviction, " + percent(*used, most) + " used");
}

}  // namespace

Finding judge_evict(const ServerFacts& server, const Terms& /*terms*/) {
  const auto most = number_of(server.info, "maxmemory");
  if (!most) return not_seen(most.why());
  if (*most == 0) return good("no maxmemory, so nothing is evicted");
  const auto policy = field_of(server.info, "maxmemory_policy");
  if (!policy) return not_seen(policy.why());
  if (*policy == k_no_eviction) return judge_room(server, *most);
  return broken("maxmemory-policy is " + printable(*policy),
                "a lock is a key with a TTL, and is thrown away when memory is short",
                std::string(k_evict_remedy));
}

Finding judge_evicted(const ServerFacts& server, const Terms& /*terms*/) {
  const auto count = number_of(server.info, "evicted_keys");
  if (!count) return not_seen(count.why());
  const auto policy = field_of(server.info, "maxmemory_policy");
  if (*count == 0) return good("no key was evicted");
  if (!policy) return not_seen(policy.why());
  const std::string seen = "it has thrown away " + std::to_string(*count) + " keys since its start";
  if (*policy == k_no_eviction) return info(seen, "under an earlier maxmemory-policy");
  return broken(seen, "locks may have been among them", std::string(k_evict_remedy));
}

Finding judge_persist(const ServerFacts& server, const Terms& terms) {
  const auto aof = number_of(server.info, "aof_enabled");
  if (!aof) return not_seen(aof.why());
  if (*aof == 0) {
    return warning("appendonly is no",
                   terms.of_a_set
                       ? "a master that restarts before it is replaced forgets all locks, and its "
                         "replicas follow it: a waiter then runs beside the holder"
                       : "a restart forgets all locks: a waiter then runs beside the holder",
                   "CONFIG SET appendonly yes, and in redis.conf, with appendfsync always");
  }
  const auto fsync = field_of(server.config, "appendfsync");
  if (!fsync) return not_seen(fsync.why());
  if (*fsync == "always") return info("appendfsync is always", "each grant is on disk");
  return warning("appendfsync is " + printable(*fsync),
                 *fsync == "everysec" ? "a crash of its machine forgets the locks of up to 1 s"
                                      : "a crash of its machine forgets the locks of some 30 s",
                 "CONFIG SET appendfsync always, and in redis.conf");
}

Finding judge_bgsave(const ServerFacts& server, const Terms& /*terms*/) {
  const auto aof = field_of(server.info, "aof_last_write_status");
  const auto rdb = field_of(server.info, "rdb_last_bgsave_status");
  if (!aof || !rdb) return not_seen(aof ? rdb.why() : aof.why());
  const std::string remedy = "free space on its disk, or mend its rights; its log says more";
  if (*aof != "ok") {
    return broken("the last write of the AOF failed", "all writes are refused (MISCONF)", remedy);
  }
  if (*rdb == "ok") return good("its snapshots are written");
  // Without save points the server writes snapshots only for BGSAVE, and a failed snapshot does not
  // make it refuse writes.
  const auto stops = field_of(server.config, "stop-writes-on-bgsave-error");
  const auto save_points = field_of(server.config, "save");
  if ((stops && *stops == "no") || (save_points && save_points->empty())) {
    return warning(
        "the last snapshot (BGSAVE) failed", "a restart forgets the newest locks", remedy);
  }
  return broken("the last snapshot (BGSAVE) failed",
                "writes are refused, or will be (MISCONF): no lock is granted or renewed",
                remedy + "; then BGSAVE");
}

Finding judge_fork(const ServerFacts& server, const Terms& terms) {
  const auto fork_us = number_of(server.info, "latest_fork_usec");
  if (!fork_us) return not_seen(fork_us.why());
  const Duration fork = bounded(std::chrono::microseconds(*fork_us));
  const std::string stops = "the server stands still for so long, and renewals with it";
  if (fork > terms.lease.ttl() / 20) {
    return warning("its last fork took " + format_duration(fork),
                   stops,
                   "switch off transparent huge pages; give dlock a server with less memory");
  }
  const auto delayed = number_of(server.info, "aof_delayed_fsync");
  if (delayed && *delayed > 0) {
    return warning("its disk delayed " + std::to_string(*delayed) + " writes of the AOF",
                   stops,
                   "give it a faster disk, or one of its own");
  }
  for (const Slow& event : server.events ? *server.events : std::vector<Slow>()) {
    if (event.took <= terms.lease.ttl() / 20) continue;
    return warning("LATENCY: " + printable(event.what) + " took " + format_duration(event.took),
                   stops,
                   "see LATENCY DOCTOR there; LATENCY RESET once it is mended");
  }
  return good("forks and disk do not stop it");
}

}  // namespace dlock::doctor
