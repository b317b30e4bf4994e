// SPDX-License-Identifier: MIT
// ZooKeeper's requests and answers, and their encoding: frames of jute records, big-endian. Pure
// functions. dlock does not use ZooKeeper's C library: it trusts the size that a list claims to
// have before the list has arrived, and leaks the memory of a list that is broken.
//
// Paths are absolute. No byte from a server is trusted: a record that does not parse is no answer.
// A null text is read as empty.
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

// The kinds of requests. The comments name the fields that a request uses and the fields of its
// answer.
enum class ZkOp {
  // path, data, node (the kind of node): answers the path of the new node, which ends with its
  // number, and its stat. In a multi, the stat may have only its zxids.
  create,
  remove,         // path, version
  exists,         // path, watch: answers stat
  get_data,       // path, watch: answers data, stat
  get_children,   // path, watch: answers children, stat
  get_acl,        // path: answers acl, stat
  set_data,       // path, data, version: answers stat
  check,          // path, version; only in a multi
  multi,          // parts (create, remove, set_data, check): all are carried out, or none
  sync,           // path: when it is answered, this server has seen all earlier writes
  close_session,  // ends the session and its nodes; no request may follow
};

enum class ZkNode {
  persistent,
  ephemeral,             // removed when its session ends
  ephemeral_sequential,  // ephemeral; its name is `path` plus a number of ten digits
  container,             // removed within a minute after its last child is removed
};

struct ZkRequest {
  static constexpr std::int32_t k_any_version = -1;

  ZkOp op = ZkOp::exists;
  std::string path = {};
  std::string data = {};
  ZkNode node = ZkNode::persistent;
  bool for_all = false;  // all users may read the new node, even with ZkAcl::secret
  std::int32_t version = k_any_version;
  bool watch = false;  // the server sends an event once this answer is no longer true
  std::vector<ZkRequest> parts = {};
};

struct ZkStat {
  std::int64_t czxid = 0;     // zxid (number of the write) of the node's creation
  std::int64_t mzxid = 0;     // zxid of the newest set_data, or czxid
  std::int64_t ctime_ms = 0;  // the leader's wall clock, at the creation
  std::int64_t mtime_ms = 0;
  std::int32_t version = 0;  // number of set_data calls
  std::int32_t cversion = 0;
  std::int64_t owner = 0;  // session of an ephemeral node; 0: the node is not ephemeral
  std::int32_t children = 0;
};

struct ZkRight {
  std::int32_t rights = 0;  // bits: 1 read, 2 write, 4 create, 8 delete, 16 admin
  std::string scheme;
  std::string who;
};

struct ZkAnswer {
  ZkCode code = ZkCode::ok;
  std::int32_t error = 0;  // ZooKeeper's error number
  std::int64_t zxid = 0;   // the newest write that the server had seen
  std::string path = {};
  std::string data = {};
  ZkStat stat = {};
  std::vector<std::string> children = {};  // names, in no particular order
  std::vector<ZkRight> acl = {};
  // For a multi: the answers to its parts. The `code` of the multi is that of the first part that
  // failed.
  std::vector<ZkAnswer> parts = {};
};

struct ZkEvent {
  enum class Kind { created, deleted, changed, child, other };
  Kind kind = Kind::other;
  std::string path;
};

// A session's number and password: with them another connection or process can take it over.
struct ZkIdentity {
  std::int64_t number = 0;  // 0: a new session
  // Kept secret: a program that knows number and password can release the session's locks.
  Secret password = Secret(std::string(16, '\0'));
};

// Returns the identity of another process's session. `number` is known from the nodes of the
// session. Servers do not store passwords: each computes them from the number, so that any server
// can continue a session (ZooKeeperServer.generatePasswd, versions 3.0 to 3.9).
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

// Joins received pieces of any size, and splits them into frames.
class ZkFrames {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  // Removes and returns the next whole frame; nullopt: no frame is complete. After Errc::protocol
  // no frame follows.
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

// These functions read the record in a frame. Each returns nullopt if the frame has another record.
std::optional<ZkConnected> zk_connected(std::string_view frame);
std::optional<ZkHeader> zk_header(std::string_view frame);
std::optional<ZkEvent> zk_event(std::string_view frame);
std::optional<ZkAnswer> zk_answer(std::string_view frame, const ZkRequest& request);

}  // namespace dlock
