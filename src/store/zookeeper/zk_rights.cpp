// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_rights.hpp"

#include "base/text.hpp"
#include "store/server_search.hpp"

#include <array>
#include <utility>

namespace dlock {
namespace {

constexpr std::int32_t k_read = 1;
// The letters of the rights, in the order in which zkCli writes them.
constexpr std::array<std::pair<std::int32_t, char>, 5> k_letters{
    {{4, 'c'}, {8, 'd'}, {k_read, 'r'}, {2, 'w'}, {16, 'a'}}};

std::string text_of(const ZkRight& one) {
  std::string text = one.scheme + ':' + one.who + ':';
  for (const auto& [right, letter] : k_letters)
    if ((one.rights & right) != 0) text += letter;
  return text;
}

}  // namespace

std::string zk_others(const std::vector<ZkRight>& acl, std::string_view user) {
  const std::string start = std::string(user) + ':';
  bool has_ours = false;
  std::string others;
  for (const ZkRight& one : acl) {
    if ((one.rights & ~k_read) == 0) continue;
    const bool of_ours = one.scheme == "digest" && one.who.starts_with(start);
    if (of_ours && !std::exchange(has_ours, true)) continue;
    others += (others.empty() ? "" : ", ") + text_of(one);
  }
  return words_of_server(others);
}

}  // namespace dlock
