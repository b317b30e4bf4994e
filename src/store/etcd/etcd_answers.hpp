// SPDX-License-Identifier: MIT
// Reads the answers of etcd's JSON gateway, versions 3.4 to 3.6. The text may be hostile: an answer
// that does not fit the request (another shape, too few parts, a key that is not base64) is
// Errc::protocol. Throws nothing. Pure.
#pragma once

#include "base/boot_clock.hpp"
#include "store/etcd/etcd_error.hpp"
#include "store/etcd/etcd_requests.hpp"
#include "store/http/http_reader.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dlock {

struct EtcdKey {
  std::string key;
  std::string value;          // empty if only keys were asked for
  EtcdRevision created = 0;   // revision of the put that created the key
  EtcdRevision modified = 0;  // revision of the newest put
  EtcdLease lease = 0;        // 0: the key has no lease
};

struct EtcdAnswer {
  // The store's revision at the answer; after a transaction that wrote: the transaction's own.
  EtcdRevision revision = 0;
  // For a transaction: which branch was carried out, and one answer for each of its operations.
  // These answers have no revision of their own.
  bool succeeded = false;
  std::vector<EtcdAnswer> parts = {};
  std::vector<EtcdKey> keys = {};  // for a get
  std::int64_t count = 0;  // of a get: keys in the range, whatever `most` is; of a delete: deleted
  // For a keep-alive or a time to live: the time left; zero: there is no such lease. For a grant:
  // the granted time, which may be longer than was asked for.
  Duration ttl{};
  bool existed = false;      // for a grant: the lease was there and stays as it is; no ttl is known
  std::string version = {};  // for a status: "3.4.23"
  bool has_leader = false;   // for a status
  std::string cluster = {};  // for a status: the cluster's number
};

using EtcdRead = std::variant<EtcdAnswer, EtcdRefusal>;

EtcdRead read_answer(const EtcdRequest& request, const HttpAnswer& answer);

// The token; empty: the server asks for no login.
std::variant<std::string, EtcdRefusal> read_login(const HttpAnswer& answer);

struct EtcdEvent {
  bool deleted = false;  // by a delete, or by the end of its lease
  EtcdKey key;           // begun watches that begin() has not counted yet
};

// One line of a watch.
struct EtcdNews {
  int created = 0;  // number of watches that have begun
  std::vector<EtcdEvent> events = {};
};
std::variant<EtcdNews, EtcdRefusal> read_news(std::string_view line);
// Why a watch has ended, or did not begin.
EtcdRefusal read_end_of_news(const HttpAnswer& answer);

}  // namespace dlock
