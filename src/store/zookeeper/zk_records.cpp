// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_records.hpp"

#include "base/assert.hpp"
#include "sys/limits.hpp"

#include <algorithm>
#include <utility>

namespace dlock {
namespace {

// The longest answer that is read. A list of many children can be longer than 1 MiB, the server's
// limit for requests.
constexpr std::int32_t k_longest_frame = limits::k_answer_bytes;
constexpr std::size_t k_length_bytes = 4;

constexpr std::int32_t k_error_type = -1;  // the type in the answer to a part that failed
constexpr std::int32_t k_create_type = 1;
constexpr std::int32_t k_undone = -2;
constexpr std::int32_t k_login_type = 100;

std::int32_t wire_type(const ZkRequest& request) {
  switch (request.op) {
    case ZkOp::create:
      return request.node == ZkNode::container ? 19 : 15;
    case ZkOp::remove:
      return 2;
    case ZkOp::exists:
      return 3;
    case ZkOp::get_data:
      return 4;
    case ZkOp::get_children:
      return 12;
    case ZkOp::set_data:
      return 5;
    case ZkOp::get_acl:
      return 6;
    case ZkOp::check:
      return 13;
    case ZkOp::multi:
      return 14;
    case ZkOp::sync:
      return 9;
    case ZkOp::close_session:
      return -11;
  }
  return 0;
}

std::int32_t wire_flags(ZkNode node) {
  switch (node) {
    case ZkNode::persistent:
      return 0;
    case ZkNode::ephemeral:
      return 1;
    case ZkNode::ephemeral_sequential:
      return 3;
    case ZkNode::container:
      return 4;
  }
  return 0;
}

class Writer {
 public:
  void number(std::int32_t value) { bytes(static_cast<std::uint32_t>(value), 4); }
  void long_number(std::int64_t value) { bytes(static_cast<std::uint64_t>(value), 8); }
  void flag(bool value) { out_ += value ? '\1' : '\0'; }
  void text(std::string_view value) {
    number(static_cast<std::int32_t>(value.size()));
    out_ += value;
  }
  std::string frame() const {
    Writer length;
    length.number(static_cast<std::int32_t>(out_.size()));
    return length.out_ + out_;
  }

 private:
  void bytes(std::uint64_t value, unsigned count) {
    while (count-- > 0)
      out_ += static_cast<char>((value >> (8 * count)) & 0xFFU);
  }
  std::string out_;
};

// Reads fields. After the first missing field all further fields read as zero or empty, and ok() is
// false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::int32_t number() { return static_cast<std::int32_t>(bytes(4)); }
  std::int64_t long_number() { return static_cast<std::int64_t>(bytes(8)); }
  bool flag() { return bytes(1) != 0; }
  std::string text() {
    const std::int32_t size = number();
    if (size <= 0) return {};  // -1: null
    return std::string(piece(static_cast<std::size_t>(size)));
  }
  void fail() { ok_ = false; }
  bool ok() const { return ok_; }

 private:
  std::string_view piece(std::size_t size) {
    ok_ = ok_ && size <= left_.size();
    if (!ok_) return {};
    const auto taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::uint64_t bytes(std::size_t count) {
    std::uint64_t value = 0;
    for (const char c : piece(count))
      value = (value << 8U) | static_cast<unsigned char>(c);
    return value;
  }
  std::string_view left_;
  bool ok_ = true;
};

void write_acl(Writer& out, ZkAcl acl) {
  constexpr std::int32_t k_read = 1;
  constexpr std::int32_t k_all = 31;
  const auto entry = [&out](std::int32_t rights, std::string_view scheme, std::string_view who) {
    out.number(rights);
    out.text(scheme);
    out.text(who);
  };
  out.number(acl == ZkAcl::readable ? 2 : 1);
  if (acl != ZkAcl::open) entry(k_all, "auth", "");  // the user of this connection
  if (acl != ZkAcl::secret) entry(acl == ZkAcl::open ? k_all : k_read, "world", "anyone");
}

void write_multi_header(Writer& out, std::int32_t type, bool end) {
  out.number(type);
  out.flag(end);
  out.number(-1);
}

void write_body(Writer& out, const ZkRequest& request, ZkAcl acl) {
  switch (request.op) {
    case ZkOp::create:
      out.text(request.path);
      out.text(request.data);
      write_acl(out, request.for_all && acl == ZkAcl::secret ? ZkAcl::readable : acl);
      out.number(wire_flags(request.node));
      return;
    case ZkOp::remove:
    case ZkOp::check:
      out.text(request.path);
      out.number(request.version);
      return;
    case ZkOp::exists:
    case ZkOp::get_data:
    case ZkOp::get_children:
      out.text(request.path);
      out.flag(request.watch);
      return;
    case ZkOp::set_data:
      out.text(request.path);
      out.text(request.data);
      out.number(request.version);
      return;
    case ZkOp::multi:
      for (const ZkRequest& part : request.parts) {
        write_multi_header(out, wire_type(part), false);
        write_body(out, part, acl);
      }
      write_multi_header(out, k_error_type, true);
      return;
    case ZkOp::get_acl:
    case ZkOp::sync:
      out.text(request.path);
      return;
    case ZkOp::close_session:
      return;
  }
}

ZkStat read_stat(Reader& in) {
  ZkStat stat;
  stat.czxid = in.long_number();
  stat.mzxid = in.long_number();
  stat.ctime_ms = in.long_number();
  stat.mtime_ms = in.long_number();
  stat.version = in.number();
  stat.cversion = in.number();
  in.number();  // version of the ACL
  stat.owner = in.long_number();
  in.number();  // the size of the data
  stat.children = in.number();
  in.long_number();  // zxid of the newest change of the children
  return stat;
}

void set_code(ZkAnswer& answer, std::int32_t error) {
  answer.error = error;
  answer.code = zk_meaning(error).code;
}

void read_body(Reader& in, const ZkRequest& request, ZkAnswer& answer);

// Reads the answer to one part. If a multi fails, the answer to each part is an error number: 0 for
// parts before the one that failed, -2 for parts after it. The answer to a create may lack the
// stat, if the server answers in the form of the older create request.
void read_part(Reader& in, const ZkRequest& request, ZkAnswer& answer) {
  const std::int32_t type = in.number();
  const bool end = in.flag();
  in.number();
  if (end) {
    in.fail();  // fewer answers than parts
  } else if (type == k_error_type) {
    const std::int32_t error = in.number();
    set_code(answer, error == 0 ? k_undone : error);
  } else if (request.op == ZkOp::create && type == k_create_type) {
    answer.path = in.text();
    answer.stat.czxid = answer.stat.mzxid = answer.zxid;
  } else {
    read_body(in, request, answer);
  }
}

void read_body(Reader& in, const ZkRequest& request, ZkAnswer& answer) {
  switch (request.op) {
    case ZkOp::create:
      answer.path = in.text();
      answer.stat = read_stat(in);
      return;
    case ZkOp::exists:
    case ZkOp::set_data:
      answer.stat = read_stat(in);
      return;
    case ZkOp::get_data:
      answer.data = in.text();
      answer.stat = read_stat(in);
      return;
    case ZkOp::get_children:
      for (std::int32_t left = in.number(); left > 0 && in.ok(); --left) {
        if (answer.children.size() == limits::k_elements) in.fail();
        answer.children.push_back(in.text());
      }
      answer.stat = read_stat(in);
      return;
    case ZkOp::get_acl:
      for (std::int32_t left = in.number(); left > 0 && in.ok(); --left) {
        if (answer.acl.size() == limits::k_elements) in.fail();
        ZkRight& one = answer.acl.emplace_back();
        one.rights = in.number();
        one.scheme = in.text();
        one.who = in.text();
      }
      answer.stat = read_stat(in);
      return;
    case ZkOp::multi:
      for (const ZkRequest& part : request.parts) {
        ZkAnswer& one = answer.parts.emplace_back();
        one.zxid = answer.zxid;
        read_part(in, part, one);
        const bool first = answer.code == ZkCode::ok || answer.code == ZkCode::undone;
        if (first && one.code != ZkCode::ok) set_code(answer, one.error);
      }
      return;
    case ZkOp::sync:
      answer.path = in.text();
      return;
    case ZkOp::remove:
    case ZkOp::check:
    case ZkOp::close_session:
      return;
  }
}

ZkHeader read_header(Reader& in) {
  ZkHeader header;
  header.xid = in.number();
  header.zxid = in.long_number();
  header.error = in.number();
  return header;
}

}  // namespace

// Computes the password as the servers do: it is the bytes of java.util.Random, seeded with the
// session's number and a constant.
ZkIdentity zk_identity_of(std::int64_t number) {
  constexpr std::uint64_t k_of_server = 0xB3415C00;
  constexpr std::uint64_t k_factor = 0x5DEECE66D;
  constexpr std::uint64_t k_mask = (std::uint64_t{1} << 48U) - 1;
  constexpr std::size_t k_bytes = 16;
  std::uint64_t word = (static_cast<std::uint64_t>(number) ^ k_of_server ^ k_factor) & k_mask;
  std::string bytes;
  while (bytes.size() < k_bytes) {
    word = (word * k_factor + 0xB) & k_mask;
    for (unsigned shift = 16; shift < 48; shift += 8)
      bytes += static_cast<char>((word >> shift) & 0xFFU);
  }
  return {.number = number, .password = Secret(std::move(bytes))};
}

std::string zk_connect_frame(const ZkIdentity& identity,
                             std::int32_t timeout_ms,
                             std::int64_t last_zxid) {
  Writer out;
  out.number(0);  // protocol version
  out.long_number(last_zxid);
  out.number(timeout_ms);
  out.long_number(identity.number);
  out.text(identity.password.reveal());
  out.flag(false);  // false: no read-only server
  return out.frame();
}

std::string zk_login_frame(std::string_view user, std::string_view password) {
  Writer out;
  out.number(ZkHeader::k_login);
  out.number(k_login_type);
  out.number(0);
  out.text("digest");
  out.text(std::string(user) + ":" + std::string(password));
  return out.frame();
}

std::string zk_request_frame(std::int32_t xid, const ZkRequest& request, ZkAcl acl) {
  Writer out;
  out.number(xid);
  out.number(wire_type(request));
  write_body(out, request, acl);
  return out.frame();
}

Result<std::optional<std::string>> ZkFrames::next() {
  if (bytes_.size() < k_length_bytes) return std::optional<std::string>();
  const std::int32_t size = Reader(bytes_).number();
  if (size < 0 || size > k_longest_frame)
    return Error{Errc::protocol, "does not speak as ZooKeeper does"};
  const std::size_t end = k_length_bytes + static_cast<std::size_t>(size);
  if (bytes_.size() < end) return std::optional<std::string>();
  std::optional<std::string> frame(bytes_.substr(k_length_bytes, end - k_length_bytes));
  bytes_.erase(0, end);
  return frame;
}

std::optional<ZkConnected> zk_connected(std::string_view frame) {
  Reader in(frame);
  ZkConnected connected;
  const std::int32_t version = in.number();
  connected.timeout_ms = in.number();
  connected.identity.number = in.long_number();
  connected.identity.password = Secret(in.text());
  // The read-only flag may be missing at the end of the frame, as servers before 3.4 omit it.
  if (!in.ok() || version != 0 || connected.timeout_ms < 0) return {};
  return connected;
}

std::optional<ZkHeader> zk_header(std::string_view frame) {
  Reader in(frame);
  const ZkHeader header = read_header(in);
  if (!in.ok()) return {};
  return header;
}

std::optional<ZkEvent> zk_event(std::string_view frame) {
  Reader in(frame);
  const ZkHeader header = read_header(in);
  const std::int32_t kind = in.number();
  in.number();  // state of the session
  ZkEvent event{ZkEvent::Kind::other, in.text()};
  if (!in.ok() || header.xid != ZkHeader::k_event) return {};
  if (kind >= 1 && kind <= 4) event.kind = static_cast<ZkEvent::Kind>(kind - 1);
  return event;
}

std::optional<ZkAnswer> zk_answer(std::string_view frame, const ZkRequest& request) {
  Reader in(frame);
  const ZkHeader header = read_header(in);
  ZkAnswer answer;
  answer.zxid = header.zxid;
  set_code(answer, header.error);
  if (header.error == 0) read_body(in, request, answer);
  if (!in.ok()) return {};
  return answer;
}

}  // namespace dlock
