// SPDX-License-Identifier: MIT
// EtcdWatch: what happens to some keys, as etcd tells it on a connection of its own.
//
// From the revision that it begins with no event is missed and none comes twice, until an error. A
// server that cannot know any more what happens ends the watch: it has lost its leader, or the
// revisions are compacted. After an error the watch is closed, except after Errc::cancelled.
// Limits, interrupts and errors as of EtcdWire; Errc::denied: no right to read a range. A server
// that is frozen, or a network that swallows all, is silent: a watch proves nothing. One thread at
// a time.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/etcd/etcd_answers.hpp"
#include "store/etcd/etcd_login.hpp"
#include "store/etcd/etcd_requests.hpp"
#include "store/etcd/etcd_wire.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dlock {

class EtcdWatch {
 public:
  // `interrupt` may be null and must outlive us.
  EtcdWatch(EtcdAddress address, std::shared_ptr<EtcdLogin> login, const Interrupt* interrupt)
      : wire_(std::move(address), interrupt), login_(std::move(login)) {}

  // In place of the watch before. `from`: the first revision whose event is told; 0: what happens
  // from now on. An event of two ranges is told twice.
  Result<void> open(const std::vector<EtcdRange>& ranges, EtcdRevision from, Time limit);

  // The next event; nothing: `until` has passed, and there is none.
  Result<std::optional<EtcdEvent>> await_event(Time until);

  bool is_open() const { return open_; }
  void close();

 private:
  Result<void> begin(const std::vector<EtcdRange>& ranges, EtcdRevision from, Time limit);
  Result<bool> read(Time limit);
  void take(std::variant<EtcdNews, EtcdRefusal> said);
  Error ended();

  EtcdWire wire_;
  std::shared_ptr<EtcdLogin> login_;
  std::deque<EtcdEvent> events_;
  std::optional<EtcdRefusal> refusal_;  // the last word of the server
  int created_ = 0;                     // watches that have begun, and were not counted yet
  bool open_ = false;
};

}  // namespace dlock
