// SPDX-License-Identifier: MIT
// The part of RedisStore for clusters: refuses names that do not share a slot, and lists the locks
// of all masters.
#include "base/text.hpp"
#include "store/redis/cluster_route.hpp"
#include "store/redis/redis_answers.hpp"
#include "store/redis/redis_keys.hpp"
#include "store/redis/redis_store.hpp"
#include "store/redis/slot.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

namespace {

constexpr std::size_t k_most_names = 100000;  // how many names one list() returns at most

std::string glob_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]\\^").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

Result<Answer> RedisStore::explained(Result<Answer> answer,
                                     const std::vector<Keys>& all,
                                     bool one_of) const {
  if (answer || answer.error().code != Errc::bad_usage) return answer;
  if (auto trouble = slot_trouble(all, one_of)) return *trouble;
  return Error{Errc::refused, answer.error().text};
}

std::optional<Error> RedisStore::slot_trouble(const std::vector<Keys>& all, bool one_of) const {
  const auto name = [&](const Keys& keys) { return keys.lock.substr(prefix_.size()); };
  for (const Keys& one : all) {
    if (in_one_slot(one)) continue;
    return Error{Errc::bad_usage,
                 "the lock name " + in_quotes(name(one)) +
                     " has braces that are no hash tag, so its keys would be in different slots of "
                     "this cluster; give it another name"};
  }
  for (const Keys& one : all) {
    const Keys& first = all.front();
    if (slot_of(one.lock) == slot_of(first.lock)) continue;
    const std::string names[] = {name(first), name(one)};
    const std::string nest = "dlock run " + names[0] + " -- dlock run " + names[1] + " -- …";
    return Error{Errc::bad_usage,
                 in_quotes(names[0]) + " and " + in_quotes(names[1]) +
                     " are in different slots of this cluster (" +
                     std::to_string(slot_of(first.lock)) + " and " +
                     std::to_string(slot_of(one.lock)) + "), so no single step can " +
                     (one_of ? "choose one" : "take both") + "; give them a common tag, as in " +
                     in_quotes("{t}" + names[0]) + " and " + in_quotes("{t}" + names[1]) +
                     (one_of ? "" : ", or nest: " + nest)};
  }
  return {};
}

Result<std::vector<std::string>> RedisStore::list(std::string_view glob, Time limit) {
  const std::string pattern = glob_escaped(prefix_) + std::string(glob);
  std::vector<std::string> names;
  if (!route_->is_cluster()) {
    if (auto listed = list_of(client_, pattern, names, limit); !listed) return listed.error();
  } else {
    const auto slots = client_.call({"CLUSTER", "SLOTS"}, limit);
    if (!slots) return slots.error();
    for (const RedisAddress& master : masters_in(slots->reply.view(), client_.address())) {
      RedisClient client = client_.client_of(master);
      if (auto listed = list_of(client, pattern, names, limit); !listed) return listed.error();
    }
  }
  std::sort(names.begin(), names.end());
  // SCAN may return a name twice.
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// Adds to `names` the names of the locks on one server.
Result<void> RedisStore::list_of(RedisClient& client,
                                 const std::string& pattern,
                                 std::vector<std::string>& names,
                                 Time limit) const {
  std::string cursor = "0";
  do {
    auto answer = client.call({"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"}, limit);
    if (!answer) return answer.error();
    const ReplyView reply = answer->reply.view();
    if (reply.size() != 2) return unexpected_answer(client.where());
    cursor = reply[0].string();
    for (std::size_t i = 0; i < reply[1].size(); ++i) {
      const std::string_view key = reply[1][i].string();
      if (is_metadata_key(key) || key.size() <= prefix_.size()) continue;
      names.emplace_back(key.substr(prefix_.size()));
      if (names.size() > k_most_names) {
        return Error{Errc::refused,
                     client.where() + " has more than " + std::to_string(k_most_names) +
                         " keys that match; give a narrower pattern"};
      }
    }
  } while (cursor != "0");
  return {};
}

}  // namespace dlock
