// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_line.hpp"

#include <doctest/doctest.h>

#include <string>

namespace dlock {
namespace {

EtcdKey key(const std::string& name, EtcdRevision created, EtcdRevision modified = 0) {
  return {"a/" + name, "", created, modified == 0 ? created : modified, created};
}
EtcdAnswer answer(std::vector<EtcdKey> keys, std::int64_t count) {
  EtcdAnswer one;
  one.keys = std::move(keys);
  one.count = count;
  return one;
}
std::string names(const std::optional<std::vector<EtcdKey>>& keys) {
  if (!keys) return "all";
  std::string text;
  for (const EtcdKey& one : *keys)
    text += one.key.substr(2) + std::to_string(one.modified) + ' ';
  return text;
}

// A holder's key 1, and keys of waiters: 3, 4, 5, 6, as they were at revision 6.
EtcdLine line_of_five(std::optional<std::size_t> ours = {}) {
  EtcdRow row{.lock = "a"};
  row.keys = {key("1", 1), key("3", 3), key("4", 4), key("5", 5), key("6", 6)};
  row.holders["o"] = 0;
  return etcd_line(row, row.keys, 6, ours).value();
}

TEST_CASE("etcd line: all keys are read first, then the first ones and those written since") {
  const auto all = etcd_line_gets("a", std::nullopt);
  REQUIRE(all.size() == 1);
  CHECK(all[0].created_until == 0);
  CHECK(all[0].written_from == 0);
  CHECK(names(etcd_line_keys(std::nullopt, {answer({key("1", 1), key("2", 2)}, 2)})) == "11 22 ");

  const EtcdLine line = line_of_five(3);
  CHECK(line.ours == 5);
  const auto some = etcd_line_gets("a", line);
  REQUIRE(some.size() == 2);
  CHECK(some[0].created_until == 4);  // the holder and two waiters
  CHECK(some[0].written_from == 0);
  CHECK(some[1].created_until == 0);
  CHECK(some[1].written_from == 7);
  CHECK_FALSE(etcd_line(EtcdRow{.lock = "a"}, {}, 6, std::nullopt));
}

TEST_CASE("etcd line: what was written, has come, or is gone from the front") {
  const EtcdLine line = line_of_five();
  const auto merged = [&](std::vector<EtcdKey> front, std::vector<EtcdKey> written, int count) {
    return names(etcd_line_keys(line, {answer(std::move(front), count), answer(written, count)}));
  };
  CHECK(merged({key("1", 1), key("3", 3), key("4", 4)}, {}, 5) == "11 33 44 55 66 ");
  CHECK(merged({key("3", 3, 7), key("4", 4)}, {key("3", 3, 7)}, 4) == "37 44 55 66 ");
  CHECK(merged({key("4", 4)}, {key("6", 6, 8), key("0", 9)}, 4) == "44 55 68 09 ");
  CHECK(merged({}, {}, 2) == "55 66 ");
}

TEST_CASE("etcd line: a key that is gone and was not asked for makes the watcher read all") {
  const EtcdLine line = line_of_five();
  const std::vector<EtcdKey> front{key("1", 1), key("3", 3), key("4", 4)};
  CHECK(names(etcd_line_keys(line, {answer(front, 4), answer({}, 4)})) == "all");
  // One is gone, and another has come.
  CHECK(names(etcd_line_keys(line, {answer(front, 5), answer({key("7", 7)}, 5)})) == "all");
  // One was deleted and made again.
  CHECK(names(etcd_line_keys(line, {answer(front, 5), answer({key("5", 8)}, 5)})) ==
        "11 33 44 66 58 ");
}

}  // namespace
}  // namespace dlock
