// SPDX-License-Identifier: MIT
// The facts that `dlock doctor` has seen of the servers behind a URL, without a verdict, so that
// the rules (rules.hpp) are pure. Each fact is Seen, or has the reason why it was not seen, so that
// no rule takes a default value for an answer.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/doctor/trial.hpp"
#include "sys/tls_facts.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock::doctor {

template <class T>
class Seen {
 public:
  Seen() = default;
  Seen(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  static Seen unseen(const std::string& why) {
    Seen seen;
    seen.why_ = why;
    return seen;
  }
  // Makes a fact that was not seen because a command failed; the reason is as in "CONFIG GET is
  // refused".
  static Seen unseen(std::string_view command, const Error& error);

  explicit operator bool() const { return value_.has_value(); }
  const T& operator*() const { return value_.value(); }
  const T* operator->() const { return &value_.value(); }
  const std::string& why() const { return why_; }

 private:
  std::optional<T> value_;
  std::string why_ = "it was not asked";
};

// Returns why the fact behind a failed command was not seen.
std::string reason_of(std::string_view command, const Error& error);

template <class T>
Seen<T> Seen<T>::unseen(std::string_view command, const Error& error) {
  return unseen(reason_of(command, error));
}

using Fields = std::map<std::string, std::string, std::less<>>;

Fields parse_info(std::string_view text);  // "key:value" lines

// The bound of all numbers, so that a rule may multiply one by a hundred.
inline constexpr long long k_largest_number = 1LL << 53U;
// Return a field of INFO or of CONFIG GET. A number is within ±k_largest_number.
Seen<std::string> field_of(const Seen<Fields>& fields, std::string_view name);
Seen<long long> number_of(const Seen<Fields>& fields, std::string_view name);

struct Replica {
  std::string host;
  std::uint16_t port = 0;
};

struct Role {
  std::string word;               // "master", "slave", "sentinel"
  std::vector<Replica> replicas;  // for a master
  std::string master;             // for a replica: the address of its master, "10.0.0.1:6379"
};

// A right that dlock needs: to run a command on a kind of key, or on a channel.
struct Right {
  std::string command;  // as ACL SETUSER takes it: "hset", "client|id"
  std::string pattern;  // as ACL SETUSER takes it: "~dlock:*", "&dlock:turn:*"; empty: no key
  bool granted = false;
  bool optional = false;  // without this right dlock works, but less well
};

struct Clock {
  double rate = 1;         // seconds that pass on the server per second on this machine
  double uncertainty = 0;  // uncertainty of `rate`
  // The server's clock less our CLOCK_BOOTTIME; only differences between servers mean anything.
  Duration ahead{};
};

struct Latency {
  std::vector<Duration> pings;
  std::vector<Duration> scripts;
  std::vector<Duration> connects;
};

struct Slow {
  std::string what;  // a command or an event
  Duration took{};
};

// How a server was reached.
struct Way {
  std::string url;          // without a password
  bool is_replica = false;  // found through its master, not in the URL
  bool is_other = false;    // a master of the cluster, but not the one that has the name
  bool is_near = false;     // reached over the loopback or a unix socket
  bool tls = false;
  bool insecure = false;
  bool has_password = false;
  std::string user = "default";  // as in the URL
};

struct ServerFacts {
  Way way;
  std::optional<Error> unreachable = {};  // if set, nothing else was seen
  Seen<TlsFacts> tls;                     // seen on a separate connection
  Seen<Fields> info;                      // INFO
  Seen<Fields> config;                    // CONFIG GET
  Seen<Role> role;                        // ROLE
  bool role_is_unknown = false;           // the server has no ROLE command
  Seen<std::string> user;                 // ACL WHOAMI
  Seen<bool> open_to_all;                 // the server answers without a password
  Seen<std::string> scripts;     // the server's error for EVALSHA or EVAL; empty: it runs scripts
  Seen<std::string> undeclared;  // the server's error for undeclared keys; empty: it allows them
  Seen<std::vector<Right>> rights;
  Seen<long long> sentinels;  // number of sentinels subscribed to the server's hello channel
  // All our commands reach one session, so there is no proxy that shares connections.
  Seen<bool> one_connection;
  Seen<std::vector<std::string>> open_slots;  // CLUSTER NODES: slots that are being moved
  Seen<bool> has_replica;                     // CLUSTER NODES: a replica, connected or not
  Seen<std::string> masters;                  // CLUSTER NODES: sorted ids of all masters with slots
  Seen<Clock> clock;
  Seen<Latency> latency;
  Seen<std::vector<Slow>> slow_log;
  Seen<std::vector<Slow>> events;  // LATENCY LATEST
};

struct SentinelFacts {
  std::string url;
  bool tls = false;
  bool insecure = false;
  std::optional<Error> unreachable = {};
  Seen<TlsFacts> certificate = {};
  std::string master;       // the address that it names; empty: it does not know the name
  Fields fields = {};       // SENTINEL master
  Seen<int> others_alive;   // how many other sentinels it knows that it does not count as down
  Seen<std::string> check;  // SENTINEL ckquorum: the complaint; empty: all is well
};

struct ClusterFacts {
  Seen<Fields> info;     // CLUSTER INFO
  Seen<Fields> timeout;  // CONFIG GET cluster-node-timeout
  Seen<int> masters;     // CLUSTER SLOTS: number of masters
  int slot = 0;          // slot of the name
  std::string owner;     // owner of that slot; empty: unknown
};

struct SetFacts {
  std::string url;  // the URL without a password
  std::optional<ClusterFacts> cluster = {};
  std::vector<SentinelFacts> sentinels = {};
  std::vector<ServerFacts> servers = {};  // the name's master is the first, if it answers
  std::vector<std::string> unasked = {};  // URLs of servers for which there was no time
  int wanted_replicas = 0;
  bool replicas_by_default = false;  // --replicas was not given
  Trial trial = {};
};

}  // namespace dlock::doctor
