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
  // The reason of a failed command: "CONFIG GET is refused".
  static Seen unseen(std::string_view command, const Error& error);

  explicit operator bool() const { return value_.has_value(); }
  const T& operator*() const { return value_.value(); }
  const T* operator->() const { return &value_.value(); }
  const std::string& why() const { return why_; }

 private:
  std::optional<T> value_;
  std::string why_ = "it was not asked";
};

// Why the fact of a failed command was not seen.
std::string reason_of(std::string_view command, const Error& error);

template <class T>
Seen<T> Seen<T>::unseen(std::string_view command, const Error& error) {
  return unseen(reason_of(command, error));
}

using Fields = std::map<std::string, std::string, std::less<>>;

Fields parse_info(std::string_view text);  // "key:value" lines

// A field of INFO or CONFIG GET; as a number it is within ±k_largest_number, so that a rule may
// multiply it by a hundred.
inline constexpr long long k_largest_number = 1LL << 53U;
Seen<std::string> field_of(const Seen<Fields>& fields, std::string_view name);
Seen<long long> number_of(const Seen<Fields>& fields, std::string_view name);

struct Replica {
  std::string host;
  std::uint16_t port = 0;
};

struct Role {
  std::string word;               // "master", "slave", "sentinel"
  std::vector<Replica> replicas;  // if it is a master
  std::string master;             // if it is a replica: "10.0.0.1:6379"
};

// A right that dlock needs: a command on a kind of key, or on a channel.
struct Right {
  std::string command;  // as ACL SETUSER takes it: "hset", "client|id"
  std::string pattern;  // as ACL SETUSER takes it: "~dlock:*", "&dlock:turn:*"; empty: no key
  bool granted = false;
  bool optional = false;  // without it dlock works, but less well
};

struct Clock {
  double rate = 1;         // seconds there per second here
  double uncertainty = 0;  // of the rate
  Duration ahead{};        // of CLOCK_BOOTTIME here; only differences between servers count
};

struct Latency {
  std::vector<Duration> pings;
  std::vector<Duration> scripts;
  std::vector<Duration> connects;
};

struct Slow {
  std::string what;  // a command, an event
  Duration took{};
};

// How a server was reached.
struct Way {
  std::string url;          // without a password
  bool is_replica = false;  // found by its master, not by the URL
  bool is_other = false;    // another master of the cluster than the name's
  bool is_near = false;     // over the loopback or a unix socket
  bool tls = false;
  bool insecure = false;
  bool has_password = false;
  std::string user = "default";  // as in the URL
};

struct ServerFacts {
  Way way;
  std::optional<Error> unreachable = {};  // if set, nothing else was seen
  Seen<TlsFacts> tls;                     // on a connection of its own
  Seen<Fields> info;                      // INFO
  Seen<Fields> config;                    // CONFIG GET
  Seen<Role> role;                        // ROLE
  bool role_is_unknown = false;           // the server has no such command
  Seen<std::string> user;                 // ACL WHOAMI
  Seen<bool> open_to_all;                 // it answers without a password
  Seen<std::string> scripts;              // its refusal of EVALSHA or EVAL; empty: it allows them
  Seen<std::string> undeclared;           // its refusal of undeclared keys; empty: it allows them
  Seen<std::vector<Right>> rights;
  Seen<long long> sentinels;                  // that listen to the server's hello
  Seen<bool> one_connection;                  // all questions belong to one session
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
  Seen<int> others_alive;   // the sentinels that it knows and does not count as down
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
  std::string url;  // as given, without a password
  std::optional<ClusterFacts> cluster = {};
  std::vector<SentinelFacts> sentinels = {};
  std::vector<ServerFacts> servers = {};  // the name's master first, if it answers
  std::vector<std::string> unasked = {};  // servers for which there was no time
  int wanted_replicas = 0;
  bool replicas_by_default = false;  // --replicas was not given
  Trial trial = {};
};

}  // namespace dlock::doctor
