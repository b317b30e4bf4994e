// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_line.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace dlock {

std::optional<EtcdLine> etcd_line(const EtcdRow& row,
                                  std::vector<EtcdKey> keys,
                                  EtcdRevision revision,
                                  std::optional<std::size_t> ours) {
  if (keys.empty()) return std::nullopt;
  // The holders, and the two waiters that come next.
  const std::size_t front = std::min(row.holders.size() + 2, keys.size());
  EtcdLine line{.revision = revision, .front = keys[front - 1].created};
  if (ours) line.ours = row.keys[*ours].created;
  line.keys = std::move(keys);
  return line;
}

std::vector<EtcdGet> etcd_line_gets(const std::string& lock, const std::optional<EtcdLine>& line) {
  const EtcdGet all{.range = keys_of_lock(lock), .by_creation = true};
  if (!line) return {all};
  EtcdGet front = all;
  front.created_until = line->front;
  EtcdGet written = all;
  written.written_from = line->revision + 1;
  return {front, written};
}

std::optional<std::vector<EtcdKey>> etcd_line_keys(const std::optional<EtcdLine>& line,
                                                   std::vector<EtcdAnswer> answers) {
  std::vector<EtcdKey> keys = std::move(answers.front().keys);
  if (!line) return keys;
  std::map<std::string, EtcdKey> behind;
  const auto take = [&](const std::vector<EtcdKey>& some) {
    for (const EtcdKey& key : some)
      if (key.created > line->front) behind.insert_or_assign(key.key, key);
  };
  take(line->keys);
  take(answers.back().keys);
  for (auto& [name, key] : behind)
    keys.push_back(std::move(key));
  if (answers.front().count != static_cast<std::int64_t>(keys.size())) return std::nullopt;
  std::stable_sort(keys.begin(), keys.end(), [](const EtcdKey& a, const EtcdKey& b) {
    return a.created < b.created;
  });
  return keys;
}

}  // namespace dlock
