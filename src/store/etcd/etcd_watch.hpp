// SPDX-License-Identifier: MIT
// EtcdWatch: watches some keys of an etcd on a connection of its own.
//
// From its first revision on no event is missed and none comes twice, until an error. A server that
// can no longer know the events ends the watch: it has lost its leader, or the revisions are
// compacted. After an error the watch is closed, except after Errc::cancelled. Limits, interrupts
// and errors as of EtcdWire; Errc::denied: no right to read a range. A frozen server, or a network
// that drops everything, is silent: a watch proves nothing. One thread at a time.
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

  // Replaces the watch before. `from`: the first revision whose events are reported; 0: from now
  // on. An event in two ranges is reported twice.
  Result<void> open(const std::vector<EtcdRange>& ranges, EtcdRevision from, Time limit);

  // The next event; nothing: `until` has passed without an event.
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
  int created_ = 0;                     // begun watches that begin() has not counted yet
  bool open_ = false;
};

}  // namespace dlock
