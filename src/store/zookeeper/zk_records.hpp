// SPDX-License-Identifier: MIT
// What dlock and ZooKeeper say to each other, and its bytes: frames of jute records, big-endian.
// Pure functions. They are our own, as the reader in ZooKeeper's C library takes the size of a list
// from the wire before it looks whether the list is there, and leaks what it read of a broken one.
//
// Paths are absolute. No byte of a server is believed: what does not fit is no answer. A text of
// the wire that is null is empty here.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "store/zookeeper/zk_error.hpp"
#include "store/zookeeper/zk_url.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

enum class ZkOp {
  create,         // path, data, node: path with its number, stat (in a multi perhaps only zxids)
  remove,         // path, version
  exists,         // path, watch: stat
  get_data,       // path, watch: data, stat
  get_children,   // path, watch: children, stat
  get_acl,        // path: acl, stat
  set_data,       // path, data, version: stat
  check,          // path, version; only in a multi
  multi,          // parts, of create, remove, set_data and check: all of them or none
  sync,           // path: this server has seen all that was done before
  close_session,  // ends the session and its nodes; nothing may follow it
};

enum class ZkNode {
  persistent,
  ephemeral,             // goes with the session
  ephemeral_sequential,  // the same; its name is `path` and ten digits
  container,             // goes when its last child has gone, within a minute
};

struct ZkRequest {
  static constexpr std::int32_t k_any_version = -1;

  ZkOp op = ZkOp::exists;
  std::string path = {};
  std::string data = {};
  ZkNode node = ZkNode::persistent;
  bool for_all = false;  // a node that is made may be read by all, also with ZkAcl::secret
  std::int32_t version = k_any_version;
  bool watch = false;  // one event, if the answer's state is not that any more; of this connection
  std::vector<ZkRequest> parts = {};
};

struct ZkStat {
  std::int64_t czxid = 0;     // of the write that made the node
  std::int64_t mzxid = 0;     // of the newest set_data, or czxid
  std::int64_t ctime_ms = 0;  // the leader's wall clock
  std::int64_t mtime_ms = 0;
  std::int32_t version = 0;  // how many times set_data was
  std::int32_t cversion = 0;
  std::int64_t owner = 0;  // the session of an ephemeral node; 0: it is none
  std::int32_t children = 0;
};

struct ZkRight {
  std::int32_t rights = 0;  // bits, as ZooDefs.Perms
  std::string scheme;
  std::string who;
};

struct ZkAnswer {
  ZkCode code = ZkCode::ok;
  std::int32_t error = 0;  // ZooKeeper's number
  std::int64_t zxid = 0;  // the newest write that the server had seen; of a write: at least its own
  std::string path = {};
  std::string data = {};
  ZkStat stat = {};
  std::vector<std::string> children = {};  // names, in no order
  std::vector<ZkRight> acl = {};
  std::vector<ZkAnswer> parts = {};  // of a multi; `code` is then that of the first that failed
};

struct ZkEvent {
  enum class Kind { created, deleted, changed, child, other };
  Kind kind = Kind::other;
  std::string path;
};

// The name of a session, by which another connection or process takes it over.
struct ZkIdentity {
  std::int64_t number = 0;                          // 0: a new session
  Secret password = Secret(std::string(16, '\0'));  // with both one can release its locks
};

// Of a session of another process, whose number its nodes have: no server keeps a password, each
// computes it from the number, so that a session can go on at any server of any version
// (ZooKeeperServer.generatePasswd, 3.0 to 3.9).
ZkIdentity zk_identity_of(std::int64_t number);

struct ZkConnected {
  std::int32_t timeout_ms = 0;  // 0: there is no such session
  ZkIdentity identity;
};

// --- frames to send -----------------------------------------------------------------------------

std::string zk_connect_frame(const ZkIdentity& identity,
                             std::int32_t timeout_ms,
                             std::int64_t last_zxid);
std::string zk_login_frame(std::string_view user, std::string_view password);
std::string zk_request_frame(std::int32_t xid, const ZkRequest& request, ZkAcl acl);

// --- frames that came ---------------------------------------------------------------------------

// Takes bytes in any pieces.
class ZkFrames {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  // What is in the next whole one; nothing: more has to come. Errc::protocol, and then for ever.
  Result<std::optional<std::string>> next();
  bool empty() const { return bytes_.empty(); }

 private:
  std::string bytes_;
};

struct ZkHeader {
  static constexpr std::int32_t k_event = -1;
  static constexpr std::int32_t k_login = -4;

  std::int32_t xid = 0;
  std::int64_t zxid = 0;
  std::int32_t error = 0;
};

// nullopt: it is no such record.
std::optional<ZkConnected> zk_connected(std::string_view frame);
std::optional<ZkHeader> zk_header(std::string_view frame);
std::optional<ZkEvent> zk_event(std::string_view frame);
std::optional<ZkAnswer> zk_answer(std::string_view frame, const ZkRequest& request);

}  // namespace dlock
