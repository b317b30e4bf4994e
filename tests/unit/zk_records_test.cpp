// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_records.hpp"

#include "base/random.hpp"
#include "base/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

namespace dlock {
namespace {

std::string hex_of(std::string_view bytes) {
  const auto* const first = reinterpret_cast<const unsigned char*>(bytes.data());
  return hex(std::span(first, bytes.size()));
}

std::string bytes_of(std::string_view digits) {
  std::string escaped;
  std::string plain(digits);
  plain.erase(std::remove(plain.begin(), plain.end(), ' '), plain.end());
  for (std::size_t i = 0; i + 1 < plain.size(); i += 2)
    escaped += "%" + plain.substr(i, 2);
  return percent_decode(escaped);
}

// czxid 1, mzxid 2, ctime 3, mtime 4, version 5, cversion 6, aversion 7, owner 8, length 9,
// children 10, pzxid 11.
const std::string k_stat =
    "0000000000000001 0000000000000002 0000000000000003 0000000000000004 00000005 00000006 "
    "00000007 0000000000000008 00000009 0000000a 000000000000000b";
const std::string k_header = "00000007 0000000000000009 00000000 ";  // xid 7, zxid 9, no error

TEST_CASE("zk records: the bytes of a connect, a login and the end of a session") {
  CHECK(hex_of(zk_connect_frame({}, 4000, 0x102)) ==
        "0000002d"
        "00000000"
        "0000000000000102"
        "00000fa0"
        "0000000000000000"
        "00000010"
        "00000000000000000000000000000000"
        "00");
  CHECK(hex_of(zk_connect_frame({.number = -2, .password = Secret("p")}, 1, 0)).substr(32, 42) ==
        "00000001"
        "fffffffffffffffe"
        "00000001"
        "70"
        "00");
  CHECK(hex_of(zk_login_frame("a", "b")) ==
        "0000001d"
        "fffffffc"
        "00000064"
        "00000000"
        "00000006"
        "646967657374"
        "00000003"
        "613a62");
  CHECK(hex_of(zk_request_frame(3, {.op = ZkOp::close_session}, ZkAcl::open)) ==
        "00000008"
        "00000003"
        "fffffff5");
}

TEST_CASE("zk records: the bytes of requests") {
  const auto bytes = [](const ZkRequest& request) {
    return hex_of(zk_request_frame(1, request, ZkAcl::open)).substr(16);
  };
  const std::string path =
      "00000002"
      "2f61";
  CHECK(bytes({.op = ZkOp::remove, .path = "/a", .version = 2}) == "00000002" + path + "00000002");
  CHECK(bytes({.op = ZkOp::exists, .path = "/a"}) == "00000003" + path + "00");
  CHECK(bytes({.op = ZkOp::get_data, .path = "/a", .watch = true}) == "00000004" + path + "01");
  CHECK(bytes({.op = ZkOp::get_children, .path = "/a"}) == "0000000c" + path + "00");
  CHECK(bytes({.op = ZkOp::set_data, .path = "/a", .data = "d"}) == "00000005" + path +
                                                                        "00000001"
                                                                        "64"
                                                                        "ffffffff");
  CHECK(bytes({.op = ZkOp::sync, .path = "/a"}) == "00000009" + path);
  CHECK(bytes({.op = ZkOp::get_acl, .path = "/a"}) == "00000006" + path);
  CHECK(bytes({.op = ZkOp::multi,
               .parts = {{.op = ZkOp::check, .path = "/a", .version = 1},
                         {.op = ZkOp::remove, .path = "/a", .version = 2}}}) ==
        "0000000e"
        "0000000d"
        "00"
        "ffffffff" +
            path +
            "00000001"
            "00000002"
            "00"
            "ffffffff" +
            path +
            "00000002"
            "ffffffff"
            "01"
            "ffffffff");
}

TEST_CASE("zk records: who has which rights to a new node, and what kind it is") {
  const auto bytes = [](ZkNode node, ZkAcl acl) {
    const ZkRequest request{.op = ZkOp::create, .path = "/a", .data = "d", .node = node};
    return hex_of(zk_request_frame(1, request, acl)).substr(16);
  };
  const std::string body =
      "00000002"
      "2f61"
      "00000001"
      "64";
  const std::string world =
      "00000005"
      "776f726c64"
      "00000006"
      "616e796f6e65";
  const std::string ours =
      "0000001f"
      "00000004"
      "61757468"
      "00000000";
  CHECK(bytes(ZkNode::persistent, ZkAcl::open) == "0000000f" + body +
                                                      "00000001"
                                                      "0000001f" +
                                                      world + "00000000");
  CHECK(bytes(ZkNode::ephemeral_sequential, ZkAcl::secret) ==
        "0000000f" + body + "00000001" + ours + "00000003");
  CHECK(bytes(ZkNode::container, ZkAcl::readable) ==
        "00000013" + body + "00000002" + ours + "00000001" + world + "00000004");
  CHECK(bytes(ZkNode::ephemeral, ZkAcl::open).ends_with("00000001"));
}

TEST_CASE("zk records: answers are read") {
  const auto read = [](ZkOp op, const std::string& body) {
    const auto answer = zk_answer(bytes_of(k_header + body), {.op = op});
    REQUIRE(answer.has_value());
    CHECK(answer->zxid == 9);
    return *answer;
  };
  const auto created = read(ZkOp::create, "00000002 2f61" + k_stat);
  CHECK(created.code == ZkCode::ok);
  CHECK(created.path == "/a");
  CHECK(created.stat.czxid == 1);
  CHECK(created.stat.mzxid == 2);
  CHECK(created.stat.ctime_ms == 3);
  CHECK(created.stat.mtime_ms == 4);
  CHECK(created.stat.version == 5);
  CHECK(created.stat.cversion == 6);
  CHECK(created.stat.owner == 8);
  CHECK(created.stat.children == 10);
  CHECK(read(ZkOp::get_data, "00000001 64" + k_stat).data == "d");
  CHECK(read(ZkOp::get_data, "ffffffff" + k_stat).data.empty());
  CHECK(read(ZkOp::get_children, "00000002 00000001 61 00000001 62" + k_stat).children ==
        std::vector<std::string>{"a", "b"});
  CHECK(read(ZkOp::remove, "").code == ZkCode::ok);
  const auto none =
      zk_answer(bytes_of("00000007 0000000000000009 ffffff9b"), {.op = ZkOp::get_data});
  REQUIRE(none.has_value());
  CHECK(none->code == ZkCode::no_node);
  CHECK(none->error == -101);
}

TEST_CASE("zk records: a multi says what became of each part") {
  const ZkRequest multi{.op = ZkOp::multi,
                        .parts = {{.op = ZkOp::create}, {.op = ZkOp::remove}, {.op = ZkOp::check}}};
  const auto good = zk_answer(bytes_of(k_header + "0000000f 00 ffffffff 00000002 2f61" + k_stat +
                                       "00000002 00 ffffffff 0000000d 00 ffffffff ffffffff 01 "
                                       "ffffffff"),
                              multi);
  REQUIRE(good.has_value());
  CHECK(good->code == ZkCode::ok);
  REQUIRE(good->parts.size() == 3);
  CHECK(good->parts[0].path == "/a");

  const auto bad =
      zk_answer(bytes_of(k_header + "ffffffff 00 00000000 00000000 ffffffff 00 ffffff99 ffffff99 "
                                    "ffffffff 00 fffffffe fffffffe ffffffff 01 ffffffff"),
                multi);
  REQUIRE(bad.has_value());
  CHECK(bad->code == ZkCode::bad_version);
  REQUIRE(bad->parts.size() == 3);
  CHECK(bad->parts[0].code == ZkCode::undone);
  CHECK(bad->parts[1].code == ZkCode::bad_version);
  CHECK(bad->parts[2].code == ZkCode::undone);

  // As 3.8 answers: the part has the type of a create without a stat.
  const auto brief = zk_answer(bytes_of(k_header + "00000001 00 00000000 00000002 2f61 "
                                                   "ffffffff 01 ffffffff"),
                               {.op = ZkOp::multi, .parts = {{.op = ZkOp::create}}});
  REQUIRE(brief.has_value());
  CHECK(brief->parts[0].path == "/a");
  CHECK(brief->parts[0].stat.czxid == 9);

  CHECK_FALSE(zk_answer(bytes_of(k_header + "ffffffff 01 ffffffff"), multi).has_value());
}

TEST_CASE("zk records: events and the answer to a connect") {
  const auto event =
      zk_event(bytes_of("ffffffff ffffffffffffffff 00000000 00000002 00000003 00000002 2f61"));
  REQUIRE(event.has_value());
  CHECK(event->kind == ZkEvent::Kind::deleted);
  CHECK(event->path == "/a");
  const auto other =
      zk_event(bytes_of("ffffffff ffffffffffffffff 00000000 ffffffff 00000003 00000000"));
  REQUIRE(other.has_value());
  CHECK(other->kind == ZkEvent::Kind::other);

  const auto made = zk_connected(bytes_of("00000000 00000fa0 0000000000000005 00000002 7071 00"));
  REQUIRE(made.has_value());
  CHECK(made->timeout_ms == 4000);
  CHECK(made->identity.number == 5);
  CHECK(made->identity.password.reveal() == "pq");
  CHECK_FALSE(zk_connected(bytes_of("00000001 00000fa0 0000000000000005 00000000")).has_value());
  CHECK_FALSE(zk_connected("").has_value());
}

TEST_CASE("zk records: frames are cut out of pieces of any size") {
  const std::string two = bytes_of("00000003 616263 00000000 00000001 78 0000");
  ZkFrames frames;
  std::vector<std::string> seen;
  for (const char byte : two) {
    frames.add({&byte, 1});
    for (;;) {
      auto frame = frames.next();
      REQUIRE(frame.has_value());
      if (!*frame) break;
      seen.push_back(**frame);
    }
  }
  CHECK(seen == std::vector<std::string>{"abc", "", "x"});
  CHECK_FALSE(frames.empty());
  for (const char* const garbage : {"-ERR unknown", "HTTP/1.1 400", "\xff\xff\xff\xff"}) {
    ZkFrames broken;
    broken.add(garbage);
    CHECK(broken.next().error().code == Errc::protocol);
  }
}

// Answers that are cut short are errors, and a false size costs nothing.
TEST_CASE("zk records: no bytes break the reader") {
  const std::string whole = bytes_of(k_header + "00000002 00000001 61 00000001 62" + k_stat);
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(zk_answer(whole.substr(0, size), {.op = ZkOp::get_children}).has_value());
  CHECK_FALSE(zk_answer(bytes_of(k_header + "7fffffff"), {.op = ZkOp::get_children}).has_value());
  CHECK_FALSE(zk_answer(bytes_of(k_header + "7fffffff 61"), {.op = ZkOp::get_data}).has_value());

  const ZkRequest multi{.op = ZkOp::multi,
                        .parts = {{.op = ZkOp::create}, {.op = ZkOp::get_children}}};
  for (int i = 0; i < 2000; ++i) {
    std::array<unsigned char, 120> noise{};
    fill_randomly(noise);
    std::string bytes(noise.begin(), noise.end());
    bytes.resize(noise[0] % noise.size());
    const std::string answer = bytes_of(k_header) + bytes;
    for (const ZkOp op : {ZkOp::create, ZkOp::get_data, ZkOp::get_children, ZkOp::sync})
      static_cast<void>(zk_answer(answer, {.op = op}));
    static_cast<void>(zk_answer(answer, multi));
    static_cast<void>(zk_event(bytes));
    static_cast<void>(zk_connected(bytes));
  }
}

TEST_CASE("zookeeper: the password of a session is that which every server computes") {
  // The bytes of java.util.Random; tests/sys/zk_session_test.cpp compares with a server.
  CHECK(hex_of(zk_identity_of(0x1000000deadbeef).password.reveal()) ==
        "e61eb63f1c1802e5d90d40c2c98c7598");
}

}  // namespace
}  // namespace dlock
