// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_owners.hpp"

#include <algorithm>

namespace dlock {

ZkOwners::Own& ZkOwners::of_claim(const OwnerId& owner, Duration timeout) {
  const auto at = own_.find(owner);
  if (at != own_.end()) return at->second;
  return own_.emplace(owner, Own{ZkSession(address_, timeout, interrupt_)}).first->second;
}

ZkOwners::Own* ZkOwners::find(const OwnerId& owner) {
  const auto at = own_.find(owner);
  return at == own_.end() ? nullptr : &at->second;
}

const ZkOwners::Own* ZkOwners::find(const OwnerId& owner) const {
  const auto at = own_.find(owner);
  return at == own_.end() ? nullptr : &at->second;
}

ZkSession& ZkOwners::by_number(std::int64_t number, Duration timeout) {
  const auto at = std::find_if(
      own_.begin(), own_.end(), [&](const auto& one) { return one.second.is_of(number); });
  if (at != own_.end()) return at->second.session;
  return others_.try_emplace(number, address_, timeout, interrupt_, zk_identity_of(number))
      .first->second;
}

void ZkOwners::end(std::int64_t number) {
  if (number != 0) over_.insert(number);  // 0: the session was never made
  std::erase_if(own_, [&](const auto& one) { return one.second.is_of(number); });
  others_.erase(number);
}

bool ZkOwners::has(std::int64_t number) const {
  return others_.contains(number) || std::any_of(own_.begin(), own_.end(), [&](const auto& one) {
           return one.second.is_of(number);
         });
}

bool ZkOwners::owns(const OwnerId& owner, const std::string& path) const {
  const auto at = own_.find(owner);
  return at != own_.end() && at->second.nodes.contains(path);
}

void ZkOwners::note_node(std::int64_t number, const std::string& path) {
  for (auto& [owner, own] : own_)
    if (own.is_of(number)) own.nodes.insert(path);
}

void ZkOwners::forget_node(const std::string& path, Time limit) {
  for (auto& [owner, own] : own_) {
    if (own.nodes.erase(path) == 0) continue;
    quit_idle(OwnerId(owner), limit);
    return;
  }
}

void ZkOwners::quit_idle(const OwnerId& owner, Time limit) {
  const auto at = own_.find(owner);
  if (at == own_.end() || !at->second.nodes.empty()) return;
  at->second.session.quit(limit);
  own_.erase(at);
}

void ZkOwners::disconnect() {
  for (auto& [owner, own] : own_)
    own.session.disconnect();
  for (auto& [number, session] : others_)
    session.disconnect();
}

}  // namespace dlock
