// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_path.hpp"

#include "store/zookeeper/zk_row.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace dlock {
namespace {

TEST_CASE("zk path: a usual name is its node's name, as other programs write it") {
  for (const std::string name :
       {"job", "a b", "Ünïcode", "日本", "a.b", "...", "-_~!@#$&*()+=\\'\"", "x\u00a0y"})
    CHECK(zk_node_of(name) == name);
}

TEST_CASE("zk path: what ZooKeeper refuses is percent-encoded, and comes back") {
  const std::vector<std::pair<std::string, std::string>> pairs{
      {"team/job", "team%2fjob"},
      {"100%", "100%25"},
      {"%2f", "%252f"},
      {".", "%2e"},
      {"..", "%2e%2e"},
      {std::string("a\0b", 3), "a%00b"},
      {"a\nb\x1f", "a%0ab%1f"},
      {"\x7f\u0080\u009f", "%7f%c2%80%c2%9f"},
      {"\ue000", "%ee%80%80"},
      {"\uf8ff", "%ef%a3%bf"},
      {"\ufff0", "%ef%bf%b0"},
      {"\U0001f512!", "%f0%9f%94%92!"},  // a pair of surrogates in UTF-16
      {"\xed\xa0\x80", "%ed%a0%80"},     // a lone one
      {"\xff\xc3", "%ff%c3"},            // no UTF-8
      {"\xe2\x82", "%e2%82"},            // the beginning of a character
      {"\xc3/", "%c3%2f"},
  };
  for (const auto& [name, node] : pairs) {
    CAPTURE(node);
    CHECK(zk_node_of(name) == node);
    CHECK(zk_name_of(node) == name);
    CHECK(is_zk_path("/" + node));
  }
}

TEST_CASE("zk path: the characters beside those that are refused are not encoded") {
  for (const std::string name : {" ", "~", "\u00a0", "\ud7ff", "\uf900", "\uffef"})
    CHECK(zk_node_of(name) == name);
}

TEST_CASE("zk path: which paths ZooKeeper takes") {
  for (const char* const path : {"/a", "/a/b", "/a.b/..c/%", "/日本"})
    CHECK(is_zk_path(path));
  for (const char* const path : {"",
                                 "/",
                                 "a",
                                 "a/b",
                                 "/a/",
                                 "//a",
                                 "/a//b",
                                 "/.",
                                 "/a/..",
                                 "/a/./b",
                                 "/a\n",
                                 "/\U0001f512",
                                 "/\xff"}) {
    CAPTURE(path);
    CHECK_FALSE(is_zk_path(path));
  }
}

TEST_CASE("zookeeper: a node that a newer dlock wrote is known as such") {
  using namespace std::chrono_literals;
  const std::string path = "/a/_c_x-lock-0000000000";
  ZkRow row{.lock = "a", .folder = "/a", .note_path = "/dlock-done/a", .has_folder = true};
  row.nodes.push_back({.path = path,
                       .data = R"({"layout":2,"leases":[]})",
                       .stat = {.czxid = 1, .mzxid = 1, .owner = 7},
                       .place = *zk_place_of(ZkLayout::curator, path)});
  read_zk_row(row, lease_table::StoreTime(1s));
  CHECK(row.state.layout == 2);
  CHECK(lease_table::is_live(row.state, lease_table::StoreTime(60s)));
}

}  // namespace
}  // namespace dlock
