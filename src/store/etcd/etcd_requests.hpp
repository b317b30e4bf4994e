// SPDX-License-Identifier: MIT
// What is asked of etcd (v3), and the same as its JSON gateway wants it. Pure.
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
// Every key that begins so. `prefix` is not empty.
EtcdRange keys_below(std::string prefix);

// The ttl is rounded up to whole seconds, and etcd may grant more (EtcdAnswer::ttl). A lease that
// is there already stays as it is: so the same grant may be sent again.
struct EtcdGrant {
  EtcdLease lease = 0;
  Duration ttl{};
};
// With it go the lease's keys. One that is not there is none any more.
struct EtcdRevoke {
  EtcdLease lease = 0;
};
// "Yes" is no proof: a leader that has lost the others says so, too. See EtcdAnswer::ttl.
struct EtcdKeepAlive {
  EtcdLease lease = 0;
};

// How long a lease has left, by the leader.
struct EtcdTimeToLive {
  EtcdLease lease = 0;
};

// Linearizable: it knows all that was written before it was asked.
struct EtcdGet {
  EtcdRange range;
  bool keys_only = false;
  bool by_creation = false;  // in the order of creation, oldest first; otherwise of the keys
  std::int64_t most = 0;     // 0: all
};
struct EtcdPut {
  std::string key;
  std::string value = {};
  EtcdLease lease = 0;  // 0: none. A lease that is not there is Errc::refused.
};
struct EtcdDelete {
  EtcdRange range;
};

// True if every key of the range has such a number; a key that is not there has 0 for each, and a
// range without keys is true.
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
  std::vector<EtcdCompare> compares;  // all; none is true
  std::vector<EtcdOperation> then;
  std::vector<EtcdOperation> otherwise;
};
// No two of one branch may put the same key, also not with those of a nested branch.
struct EtcdOperation : std::variant<EtcdGet, EtcdPut, EtcdDelete, EtcdTxn> {
  using variant::variant;
};

// What the server is: for a diagnosis.
struct EtcdStatus {};

using EtcdRequest = std::
    variant<EtcdGrant, EtcdRevoke, EtcdKeepAlive, EtcdTimeToLive, EtcdGet, EtcdTxn, EtcdStatus>;

// A random one: it is known before the server has answered, so what is not answered can be undone.
EtcdLease new_etcd_lease();
// As etcdctl and Go's concurrency package name a key of a lease: lower-case digits, none at the
// front that is 0.
std::string lease_digits(EtcdLease lease);

// The gateway's words.
struct EtcdWords {
  std::string_view path;
  std::string json;
};
EtcdWords words_of(const EtcdRequest& request);
EtcdWords login_words(const std::string& user, const std::string& password);
// What happens in the ranges from `from` on; 0: from now on.
EtcdWords watch_words(const std::vector<EtcdRange>& ranges, EtcdRevision from);

}  // namespace dlock
