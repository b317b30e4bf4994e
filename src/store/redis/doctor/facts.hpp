// SPDX-License-Identifier: MIT
// What `dlock doctor` has seen of the servers behind a URL, without a judgement, so that the rules
// that judge (rules.hpp) can be pure. Each fact is of type Seen: it has a value, or the reason why
// it was not seen. So no rule takes a default value for an answer of the server.
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
  // Makes a fact that was not seen because a command failed. Its reason is a text such as "CONFIG
  // GET is refused".
  static Seen unseen(std::string_view command, const Error& error);

  explicit operator bool() const { return value_.has_value(); }
  const T& operator*() const { return value_.value(); }
  const T* operator->() const { return &value_.value(); }
  const std::string& why() const { return why_; }

 private:
  std::optional<T> value_;
  std::string why_ = "it was not asked";
};

// Returns the reason why a fact was not seen: `command` failed with `error`.
std::string reason_of(std::string_view command, const Error& error);

template <class T>
Seen<T> Seen<T>::unseen(std::string_view command, const Error& error) {
  return unseen(reason_of(command, error));
}

using Fields = std::map<std::string, std::string, std::less<>>;

Fields parse_info(std::string_view text);  // reads text lines of the form "key:value"

// The largest absolute value of a number here, so that a rule can multiply by a hundred without
// overflow.
inline constexpr long long k_largest_number = 1LL << 53U;
// Return a field of the answer to INFO or to CONFIG GET, as a text or as a number that is limited
// to ±k_largest_number.
Seen<std::string> field_of(const Seen<Fields>& fields, std::string_view name);
Seen<long long> number_of(const Seen<Fields>& fields, std::string_view name);

struct Replica {
  std::string host;
  std::uint16_t port = 0;
};

struct Role {
  // The server's role, from its answer to ROLE: "master", "slave", "sentinel".
  std::string word;
  std::vector<Replica> replicas;  // for a master: its replicas
  std::string master;             // for a replica: the address of its master, "10.0.0.1:6379"
};

// A right that dlock needs: to run a command, with keys or channels that match a pattern.
struct Right {
  std::string command;  // in the form of ACL SETUSER: "hset", "client|id"
  // In the form of ACL SETUSER: "~dlock:*" (keys), "&dlock:turn:*" (channels); empty: no key.
  std::string pattern;
  bool granted = false;
  bool optional = false;  // without this right dlock works, but less well
};

struct Clock {
  double rate = 1;         // seconds of the server's clock per second of this machine's clock
  double uncertainty = 0;  // how far `rate` may be from the truth
  // The server's clock minus this machine's CLOCK_BOOTTIME. Only the difference between two servers
  // means anything.
  Duration ahead{};
};

struct Latency {
  std::vector<Duration> pings;
  std::vector<Duration> scripts;
  std::vector<Duration> connects;
};

struct Slow {
  std::string what;  // a command, or an event of LATENCY
  Duration took{};
};

// How doctor reached a server.
struct Way {
  std::string url;          // without a password
  bool is_replica = false;  // the server was found through its master, not through the URL
  // A master of the cluster, but not the master that has the examined name.
  bool is_other = false;
  bool is_near = false;  // the server was reached over the loopback interface or a unix socket
  bool tls = false;
  bool insecure = false;
  bool has_password = false;
  std::string user = "default";  // the user in the URL
};

struct ServerFacts {
  Way way;
  std::optional<Error> unreachable = {};  // if set, no fact below was seen
  Seen<TlsFacts> tls;                     // facts about TLS, seen on a connection of its own
  Seen<Fields> info;                      // INFO
  Seen<Fields> config;                    // CONFIG GET
  Seen<Role> role;                        // ROLE
  bool role_is_unknown = false;           // the server has no ROLE command
  Seen<std::string> user;                 // ACL WHOAMI
  Seen<bool> open_to_all;                 // whether the server answers without a password
  Seen<std::string> scripts;  // error of the server for EVALSHA or EVAL; empty: scripts work
  // Error of the server for a script with undeclared keys; empty: it allows them.
  Seen<std::string> undeclared;
  Seen<std::vector<Right>> rights;
  // How many sentinels watch this server (subscribers of its hello channel).
  Seen<long long> sentinels;
  // Whether all our commands reach one session of the server; if not, a proxy shares connections.
  Seen<bool> one_connection;
  // CLUSTER NODES: slots that are moving to or from this server.
  Seen<std::vector<std::string>> open_slots;
  // CLUSTER NODES: whether it has a replica, connected or not.
  Seen<bool> has_replica;
  Seen<std::string> masters;  // CLUSTER NODES: sorted ids of all masters with slots
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
  std::string master;       // address of the master; empty: the sentinel does not know the name
  Fields fields = {};       // SENTINEL master
  Seen<int> others_alive;   // how many other sentinels this sentinel takes to be alive
  Seen<std::string> check;  // answer to SENTINEL CKQUORUM if it is a complaint; empty: all is well
};

struct ClusterFacts {
  Seen<Fields> info;     // CLUSTER INFO
  Seen<Fields> timeout;  // CONFIG GET cluster-node-timeout
  Seen<int> masters;     // CLUSTER SLOTS: number of masters
  int slot = 0;          // slot of the examined name
  std::string owner;     // address of the owner of that slot; empty: unknown
};

struct SetFacts {
  std::string url;  // without a password
  std::optional<ClusterFacts> cluster = {};
  std::vector<SentinelFacts> sentinels = {};
  // The first is the master that has the examined name, if it answers.
  std::vector<ServerFacts> servers = {};
  std::vector<std::string> unasked = {};  // URLs of servers that were not asked, for lack of time
  int wanted_replicas = 0;
  bool replicas_by_default = false;  // --replicas was not given
  Trial trial = {};
};

}  // namespace dlock::doctor
