// SPDX-License-Identifier: MIT
// What `dlock doctor` has seen of the servers behind a URL: facts without a verdict, so that the
// rules (rules.hpp) are pure. Each fact is Seen or it has the reason why it is not: nothing here
// has a default that a rule could take for an answer.
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
  // Of a command: "CONFIG GET is refused".
  static Seen unseen(std::string_view command, const Error& error);

  explicit operator bool() const { return value_.has_value(); }
  const T& operator*() const { return value_.value(); }
  const T* operator->() const { return &value_.value(); }
  const std::string& why() const { return why_; }

 private:
  std::optional<T> value_;
  std::string why_ = "it was not asked";
};

// Why a command that failed was not seen.
std::string reason_of(std::string_view command, const Error& error);

template <class T>
Seen<T> Seen<T>::unseen(std::string_view command, const Error& error) {
  return unseen(reason_of(command, error));
}

using Fields = std::map<std::string, std::string, std::less<>>;

Fields parse_info(std::string_view text);  // "key:value" lines

// A field of INFO or CONFIG GET, and as a number: one that is within ±k_largest_number, so that a
// rule may take a hundred times as much.
inline constexpr long long k_largest_number = 1LL << 53U;
Seen<std::string> field_of(const Seen<Fields>& fields, std::string_view name);
Seen<long long> number_of(const Seen<Fields>& fields, std::string_view name);

struct Replica {
  std::string host;
  std::uint16_t port = 0;
};

struct Role {
  std::string word;               // "master", "slave", "sentinel"
  std::vector<Replica> replicas;  // of a master
  std::string master;             // of a replica: "10.0.0.1:6379"
};

// A right that dlock needs: a command on a key of a kind, or on a channel.
struct Right {
  std::string command;  // as ACL SETUSER takes it: "hset", "client|id"
  std::string pattern;  // the same: "~dlock:*", "&dlock:turn:*"; empty: of no key
  bool granted = false;
  bool optional = false;  // without it dlock works, but less well
};

struct Clock {
  double rate = 1;         // seconds there in one of ours
  double uncertainty = 0;  // of it
  Duration ahead{};        // of CLOCK_BOOTTIME here; only differences between servers mean anything
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

// How a server is met.
struct Way {
  std::string url;          // without a password
  bool is_replica = false;  // found by its master, and not by the URL
  bool is_other = false;    // another master of a cluster than the one that has the name
  bool is_near = false;     // over the loopback or a unix socket
  bool tls = false;
  bool insecure = false;
  bool has_password = false;
  std::string user = "default";  // as the URL has it
};

struct ServerFacts {
  Way way;
  std::optional<Error> unreachable = {};  // then nothing else was seen
  Seen<TlsFacts> tls;                     // of a connection of its own
  Seen<Fields> info;                      // INFO
  Seen<Fields> config;                    // CONFIG GET
  Seen<Role> role;                        // ROLE
  bool role_is_unknown = false;           // the server has no such command
  Seen<std::string> user;                 // ACL WHOAMI
  Seen<bool> open_to_all;                 // it answers without a password
  Seen<std::string> scripts;              // what it says against EVALSHA and EVAL; empty: nothing
  Seen<std::string> undeclared;           // the same, of keys that are not declared
  Seen<std::vector<Right>> rights;
  Seen<long long> sentinels;                  // that listen for its hello
  Seen<bool> one_connection;                  // it is one session from question to question
  Seen<std::vector<std::string>> open_slots;  // CLUSTER NODES: those that are being moved
  Seen<bool> has_replica;                     // the same: connected or not
  Seen<std::string> masters;                  // the same: the ids of all with slots, sorted
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
  std::string master;       // the address that it names; empty: it knows no such name
  Fields fields = {};       // SENTINEL master
  Seen<int> others_alive;   // that it knows and does not count as down
  Seen<std::string> check;  // SENTINEL ckquorum: what is wrong; empty: nothing
};

struct ClusterFacts {
  Seen<Fields> info;     // CLUSTER INFO
  Seen<Fields> timeout;  // CONFIG GET cluster-node-timeout
  Seen<int> masters;     // CLUSTER SLOTS: how many
  int slot = 0;          // of the name
  std::string owner;     // of that slot; empty: not known
};

struct SetFacts {
  std::string url;  // as given, without a password
  std::optional<ClusterFacts> cluster = {};
  std::vector<SentinelFacts> sentinels = {};
  std::vector<ServerFacts> servers = {};  // first the master, or that of the name if it answers
  std::vector<std::string> unasked = {};  // servers for which there was no time
  int wanted_replicas = 0;
  bool replicas_by_default = false;  // --replicas was not given
  Trial trial = {};
};

}  // namespace dlock::doctor
