// SPDX-License-Identifier: MIT
// The keys of a lock as a watcher has read them, so that its next read need not ask for the whole
// line. It asks for the first keys, and for all keys that were written since. Every other key is
// then as it was, unless it was deleted; etcd's count of all keys shows that. So the watcher learns
// exactly what reading all keys would tell it, or that it must read all keys. Pure.
#pragma once

#include "store/etcd/etcd_answers.hpp"
#include "store/etcd/etcd_requests.hpp"
#include "store/etcd/etcd_row.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dlock {

struct EtcdLine {
  std::vector<EtcdKey> keys;  // in the order of creation; at least one
  EtcdRevision revision = 0;  // at which they were read
  // Keys that were created up to this revision are asked for again: those that are deleted next.
  EtcdRevision front = 0;
  EtcdRevision ours = 0;  // at which our own key was created, if we wait
};
// Returns what is to be known of this lock for the next read, if it has keys. `keys`: all keys in
// its range. `ours`: the index of our key in the row, if we wait.
std::optional<EtcdLine> etcd_line(const EtcdRow& row,
                                  std::vector<EtcdKey> keys,
                                  EtcdRevision revision,
                                  std::optional<std::size_t> ours);

// Returns the requests that read the keys of the lock, in one transaction.
std::vector<EtcdGet> etcd_line_gets(const std::string& lock, const std::optional<EtcdLine>& line);
// Returns the keys of the lock in the order of creation, from the answers to these requests.
// nullopt: keys that were not asked for have been deleted; all keys must be read.
std::optional<std::vector<EtcdKey>> etcd_line_keys(const std::optional<EtcdLine>& line,
                                                   std::vector<EtcdAnswer> answers);

}  // namespace dlock
