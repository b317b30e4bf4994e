// SPDX-License-Identifier: MIT
// What etcd's JSON gateway answers, as it comes from versions 3.4 to 3.6. Takes hostile text: what
// does not answer the request (another shape, too few parts, a key that is not base64) is
// Errc::protocol. Nothing is thrown out of here. Pure.
#pragma once

#include "base/boot_clock.hpp"
#include "store/etcd/etcd_error.hpp"
#include "store/etcd/etcd_requests.hpp"
#include "store/etcd/http_reader.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dlock {

struct EtcdKey {
  std::string key;
  std::string value;          // empty, if only keys were asked for
  EtcdRevision created = 0;   // of the put that made it
  EtcdRevision modified = 0;  // of the newest put
  EtcdLease lease = 0;        // 0: none
};

struct EtcdAnswer {
  // When it was answered; of a transaction that has written: its own.
  EtcdRevision revision = 0;
  // Of a transaction: which branch was carried out, and one answer for each operation of it. They
  // have no revision of their own.
  bool succeeded = false;
  std::vector<EtcdAnswer> parts = {};
  std::vector<EtcdKey> keys = {};  // of a get
  std::int64_t count = 0;  // in the range of a get, whatever `most` is; of a delete: deleted
  // Of a keep-alive or of what is left; zero: there is no such lease. Of a grant; it may be longer
  // than was asked.
  Duration ttl{};
  bool existed = false;      // of a grant: the lease was there and stays as it is; no ttl is said
  std::string version = {};  // of a status: "3.4.23"
  bool has_leader = false;   // likewise
  std::string cluster = {};  // likewise: its number
};

using EtcdRead = std::variant<EtcdAnswer, EtcdRefusal>;

EtcdRead read_answer(const EtcdRequest& request, const HttpAnswer& answer);

// The token, and that there is none because the server asks for none (empty).
std::variant<std::string, EtcdRefusal> read_login(const HttpAnswer& answer);

struct EtcdEvent {
  bool deleted = false;  // by whatever means: a delete, the end of its lease
  EtcdKey key;           // of a deleted one: only its name and the revision of the delete
};

// One line of a watch.
struct EtcdNews {
  int created = 0;  // watches that have begun
  std::vector<EtcdEvent> events = {};
};
std::variant<EtcdNews, EtcdRefusal> read_news(std::string_view line);
// Why a watch has ended, or did not begin.
EtcdRefusal read_end_of_news(const HttpAnswer& answer);

}  // namespace dlock
