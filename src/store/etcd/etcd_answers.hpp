// SPDX-License-Identifier: MIT
// Reads the answers of etcd's JSON gateway, versions 3.4 to 3.6. The text may be hostile: an answer
// that does not fit its request (another structure, missing parts, a key that is not base64) is
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
  EtcdRevision created = 0;   // revision of the write that created the key
  EtcdRevision modified = 0;  // revision of the newest write
  EtcdLease lease = 0;        // 0: the key has no lease
};

struct EtcdAnswer {
  // The store's revision at the time of the answer; for a transaction that wrote, its own revision.
  EtcdRevision revision = 0;
  // The term of the leader, as the member that answered knew it: each election has a higher one. 0:
  // the answer does not say it.
  std::int64_t term = 0;
  // For a transaction: whether its `then` branch was carried out, and one answer for each operation
  // of the branch. These answers have no revision of their own.
  bool succeeded = false;
  std::vector<EtcdAnswer> parts = {};
  std::vector<EtcdKey> keys = {};  // for a get
  // For a get: number of keys in the range, even if `most` is smaller; for a delete: number of
  // deleted keys.
  std::int64_t count = 0;
  // For a keep-alive or a time to live: the time left; zero: there is no such lease. For a grant:
  // the granted time, which may be longer than the requested one.
  Duration ttl{};
  // For a grant: the lease already existed and was not changed; `ttl` is unknown.
  bool existed = false;
  std::string version = {};  // for a status: "3.4.23"
  bool has_leader = false;   // for a status: the member knows a leader
  std::string cluster = {};  // for a status: the number of the cluster
};

using EtcdRead = std::variant<EtcdAnswer, EtcdRefusal>;

EtcdRead read_answer(const EtcdRequest& request, const HttpAnswer& answer);

// Returns the token of the login; empty: the server asks for no login.
std::variant<std::string, EtcdRefusal> read_login(const HttpAnswer& answer);

struct EtcdEvent {
  bool deleted = false;  // by a delete, or because its lease ended
  EtcdKey key;
};

// The content of one line of a watch.
struct EtcdNews {
  int created = 0;  // 1: the line says that a watch has begun
  std::vector<EtcdEvent> events = {};
};
std::variant<EtcdNews, EtcdRefusal> read_news(std::string_view line);
// Returns why a watch has ended or did not begin.
EtcdRefusal read_end_of_news(const HttpAnswer& answer);

}  // namespace dlock
