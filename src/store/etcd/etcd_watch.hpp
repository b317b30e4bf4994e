// SPDX-License-Identifier: MIT
// EtcdWatch: watches some keys of an etcd, on a separate connection.
//
// From its first revision until an error, every event is reported; but while limits::k_unasked
// events wait for await_event(), further ones are dropped. A server that can no longer know all
// events ends the watch: it has lost its leader, or the revisions are compacted. After an error the
// watch is closed, except after Errc::cancelled. Limits, interrupts and errors are those of
// EtcdWire. Errc::denied also means that the user may not read a range. A frozen server, or a
// network that drops everything, is silent: silence does not prove that nothing has changed. Used
// by one thread at a time.
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

  // Begins a watch, which replaces the previous one. `from`: the first revision whose events are
  // reported; 0: from now on. An event in two ranges is reported twice.
  Result<void> open(const std::vector<EtcdRange>& ranges,
                    EtcdRevision from,
                    Time limit,
                    EtcdEvents which = EtcdEvents::all);

  // Returns the next event; nullopt: `until` has passed without one.
  Result<std::optional<EtcdEvent>> await_event(Time until);

  bool is_open() const { return open_; }
  void close();

 private:
  Result<void> begin(const EtcdWords& words, std::size_t ranges, Time limit);
  Result<bool> read(Time limit);
  void take(std::variant<EtcdNews, EtcdRefusal> said);
  Error ended();

  EtcdWire wire_;
  std::shared_ptr<EtcdLogin> login_;
  std::deque<EtcdEvent> events_;
  std::optional<EtcdRefusal> refusal_;  // the refusal with which the server ended the watch
  int created_ = 0;                     // watches that have begun, not yet counted by begin()
  bool open_ = false;
};

}  // namespace dlock
