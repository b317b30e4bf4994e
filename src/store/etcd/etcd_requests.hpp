// SPDX-License-Identifier: MIT
// Requests to etcd (v3), and their form for its JSON gateway. Pure.
//
// Keys and values are any bytes. The same request is the same bytes each time. A transaction is all
// or nothing: it is carried out at one revision, which no other write has.
// https://etcd.io/docs/v3.5/dev-guide/api_reference_v3/
#pragma once

#include "base/boot_clock.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dlock {

using EtcdLease = std::int64_t;  // positive
using EtcdRevision = std::int64_t;

// [first, end); without an end the key `first` alone.
struct EtcdRange {
  std::string first;
  std::string end = {};
};
// The range of every key that begins with `prefix`, which is not empty.
EtcdRange keys_below(std::string prefix);

// The ttl is rounded up to whole seconds, and etcd may grant more (EtcdAnswer::ttl). An existing
// lease stays as it is, so the same grant may be sent again.
struct EtcdGrant {
  EtcdLease lease = 0;
  Duration ttl{};
};
// Revoking a lease deletes its keys. A lease that does not exist counts as revoked.
struct EtcdRevoke {
  EtcdLease lease = 0;
};
// A "yes" proves nothing: a leader that has lost the others says yes, too. See EtcdAnswer::ttl.
struct EtcdKeepAlive {
  EtcdLease lease = 0;
};

// Asks the leader how long a lease has left.
struct EtcdTimeToLive {
  EtcdLease lease = 0;
};

// Linearizable: sees every write that was answered before the request.
struct EtcdGet {
  EtcdRange range;
  bool keys_only = false;
  bool by_creation = false;  // oldest creation first; else in the order of keys
  std::int64_t most = 0;     // 0: all
};
struct EtcdPut {
  std::string key;
  std::string value = {};
  EtcdLease lease = 0;  // 0: none. A lease that does not exist is Errc::refused.
};
struct EtcdDelete {
  EtcdRange range;
};

// True if every key of the range compares so; a missing key has 0 for each number, and a range
// without keys is true.
struct EtcdCompare {
  enum class Number { created, modified, version, lease };
  enum class Relation { equal, not_equal, greater, less };
  EtcdRange range;
  Number number = Number::created;
  Relation relation = Relation::equal;
  std::int64_t than = 0;
};

struct EtcdOperation;
struct EtcdTxn {
  std::vector<EtcdCompare> compares;  // all must be true; an empty list is true
  std::vector<EtcdOperation> then;
  std::vector<EtcdOperation> otherwise;
};
// No two operations of a branch may put the same key, nor may those of a nested branch.
struct EtcdOperation : std::variant<EtcdGet, EtcdPut, EtcdDelete, EtcdTxn> {
  using variant::variant;
};

// Asks for the server's status, for a diagnosis.
struct EtcdStatus {};

using EtcdRequest = std::
    variant<EtcdGrant, EtcdRevoke, EtcdKeepAlive, EtcdTimeToLive, EtcdGet, EtcdTxn, EtcdStatus>;

// A random lease: it is known before the server has answered, so an unanswered grant can be undone.
EtcdLease new_etcd_lease();
// Part of the name of a lease's key, as etcdctl and Go's concurrency package write it: lower-case
// hexadecimal digits without leading zeros.
std::string lease_digits(EtcdLease lease);

// A request for the gateway.
struct EtcdWords {
  std::string_view path;
  std::string json;
};
EtcdWords words_of(const EtcdRequest& request);
EtcdWords login_words(const std::string& user, const std::string& password);
// Watches the ranges from revision `from` on; 0: from now on.
EtcdWords watch_words(const std::vector<EtcdRange>& ranges, EtcdRevision from);

}  // namespace dlock
