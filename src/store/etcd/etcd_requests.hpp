// SPDX-License-Identifier: MIT
// Requests to etcd (v3), and their encoding for its JSON gateway. Pure.
//
// Keys and values may have any bytes. Equal requests are encoded as equal bytes. A transaction is
// carried out completely or not at all, at a revision that no other write has.
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

// The keys from `first` up to, but not including, `end`; without an end only the key `first`.
struct EtcdRange {
  std::string first;
  std::string end = {};
};
// Returns the range of all keys that begin with `prefix`, which is not empty.
EtcdRange keys_below(std::string prefix);

// Makes a lease. The ttl is rounded up to whole seconds, and etcd may grant more (EtcdAnswer::ttl).
// An existing lease is not changed, so this request may be repeated.
struct EtcdGrant {
  EtcdLease lease = 0;
  Duration ttl{};
};
// Revokes a lease and so deletes its keys. A lease that does not exist counts as revoked.
struct EtcdRevoke {
  EtcdLease lease = 0;
};
// Renews a lease. A confirmation alone does not prove that the lease continues: a leader that has
// lost its followers confirms as well. EtcdAnswer::ttl has the time left.
struct EtcdKeepAlive {
  EtcdLease lease = 0;
};

// Asks the leader how long a lease has left.
struct EtcdTimeToLive {
  EtcdLease lease = 0;
};

// Reads keys. Linearizable: sees every write that was answered before this request.
struct EtcdGet {
  EtcdRange range;
  bool keys_only = false;
  // True: the keys come in the order of their creation, the oldest first. False: in the order of
  // their names.
  bool by_creation = false;
  std::int64_t most = 0;  // at most this many keys; 0: all
  // Only keys that were created at this revision or before it, and that were written at this one or
  // after it; 0: all. EtcdAnswer::count still counts all keys of the range.
  EtcdRevision created_until = 0;
  EtcdRevision written_from = 0;
};
struct EtcdPut {
  std::string key;
  std::string value = {};
  EtcdLease lease = 0;  // 0: no lease. A lease that does not exist is Errc::refused.
};
struct EtcdDelete {
  EtcdRange range;
};

// A condition that every key of the range must fulfil. A range without keys is compared as one key
// whose numbers are all 0.
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
  std::vector<EtcdCompare> compares;  // if all are true, or the list is empty, `then` is done
  std::vector<EtcdOperation> then;
  std::vector<EtcdOperation> otherwise;
};
// No two operations of a branch, including nested ones, may put the same key.
struct EtcdOperation : std::variant<EtcdGet, EtcdPut, EtcdDelete, EtcdTxn> {
  using variant::variant;
};

// Asks for the server's status; for doctor.
struct EtcdStatus {};

using EtcdRequest = std::
    variant<EtcdGrant, EtcdRevoke, EtcdKeepAlive, EtcdTimeToLive, EtcdGet, EtcdTxn, EtcdStatus>;

// Returns a random lease id. dlock chooses the id itself, so it can revoke the lease even if the
// answer to the grant was lost.
EtcdLease new_etcd_lease();
// Returns the lease as it appears in the name of its key, as etcdctl and Go's concurrency package
// write it: lower-case hexadecimal digits without leading zeros.
std::string lease_digits(EtcdLease lease);

// A request in the form in which etcd's JSON gateway takes it.
struct EtcdWords {
  std::string_view path;
  std::string json;
};
EtcdWords words_of(const EtcdRequest& request);
// Returns a request that does nothing, and is longer than the buffer of the server's HTTP. Sent
// behind a request, it lets the client close the connection at once. Go's HTTP server (net/http)
// cancels a request whose connection is closed; it notices that by reading on, but stops reading as
// soon as it finds a further request there.
EtcdWords long_words();
EtcdWords login_words(const std::string& user, const std::string& password);
enum class EtcdEvents { all, deletes };  // which events a watch reports
// Returns the request to watch the ranges from revision `from` on; 0: from now on.
EtcdWords watch_words(const std::vector<EtcdRange>& ranges, EtcdRevision from, EtcdEvents which);

}  // namespace dlock
