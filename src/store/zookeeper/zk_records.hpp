// SPDX-License-Identifier: MIT
// ZooKeeper's requests and answers, and their bytes: frames of jute records, big-endian. Pure
// functions. They are our own because ZooKeeper's C library takes the size of a list from the wire
// before it checks that the list is there, and leaks what it read of a broken list.
//
// Paths are absolute. No byte of a server is trusted: a record that does not fit is no answer. A
// null text on the wire is read as empty.
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
  multi,          // parts: create, remove, set_data, check; all are carried out, or none
  sync,           // path: this server has seen all earlier writes
  close_session,  // ends the session and its nodes; nothing may follow it
};

enum class ZkNode {
  persistent,
  ephemeral,             // goes with the session
  ephemeral_sequential,  // ephemeral; its name is `path` and ten digits
  container,             // goes when its last child has gone, within a minute
};

struct ZkRequest {
  static constexpr std::int32_t k_any_version = -1;

  ZkOp op = ZkOp::exists;
  std::string path = {};
  std::string data = {};
  ZkNode node = ZkNode::persistent;
  bool for_all = false;  // all may read the new node, also with ZkAcl::secret
  std::int32_t version = k_any_version;
  bool watch = false;  // one event on this connection when the answer is no longer true
  std::vector<ZkRequest> parts = {};
};

struct ZkStat {
  std::int64_t czxid = 0;     // zxid of the node's creation
  std::int64_t mzxid = 0;     // zxid of the newest set_data, or czxid
  std::int64_t ctime_ms = 0;  // the leader's wall clock
  std::int64_t mtime_ms = 0;
  std::int32_t version = 0;  // number of set_data calls
  std::int32_t cversion = 0;
  std::int64_t owner = 0;  // session of an ephemeral node; 0: the node is not ephemeral
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
  std::int64_t zxid = 0;   // newest write that the server had seen
  std::string path = {};
  std::string data = {};
  ZkStat stat = {};
  std::vector<std::string> children = {};  // names, in no order
  std::vector<ZkRight> acl = {};
  std::vector<ZkAnswer> parts = {};  // of a multi; its `code` is that of the first failed part
};

struct ZkEvent {
  enum class Kind { created, deleted, changed, child, other };
  Kind kind = Kind::other;
  std::string path;
};

// A session's number and password, with which another connection or process takes it over.
struct ZkIdentity {
  std::int64_t number = 0;                          // 0: a new session
  Secret password = Secret(std::string(16, '\0'));  // who has both can release its locks
};

// The identity of another process's session, whose number stands in its nodes. No server keeps a
// password: each computes it from the number, so that a session can go on at any server of any
// version (ZooKeeperServer.generatePasswd, 3.0 to 3.9).
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

// --- received frames ----------------------------------------------------------------------------

// Splits received bytes, in pieces of any size, into frames.
class ZkFrames {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  // Removes and returns the next whole frame; nothing: incomplete. Errc::protocol is permanent.
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

// nullopt: not such a record.
std::optional<ZkConnected> zk_connected(std::string_view frame);
std::optional<ZkHeader> zk_header(std::string_view frame);
std::optional<ZkEvent> zk_event(std::string_view frame);
std::optional<ZkAnswer> zk_answer(std::string_view frame, const ZkRequest& request);

}  // namespace dlock
