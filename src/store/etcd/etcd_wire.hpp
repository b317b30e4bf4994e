// SPDX-License-Identifier: MIT
// EtcdWire: one connection to one member of an etcd. Sends HTTP/1.1 requests and receives their
// answers in the same order. It connects when necessary, to the first member that can be reached;
// it tries the member of the newest connection first or, if that connection failed, the member
// after it. If there are several members, the first answer of a member must come within half of a
// call's limit.
//
// A call ends at its limit, including name lookup, or by the Interrupt. After an error the
// connection is dropped, so a late answer is never taken for the answer to the next request. No
// request is repeated; reach() only replaces an idle connection that has ended.
//
// Errors: while connecting, those of Transport; afterwards unavailable, timed_out, cancelled,
// protocol and, with TLS, denied (the server wants another client certificate). Every text names
// the server, but neither user nor password. Used by one thread at a time.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/etcd/etcd_error.hpp"
#include "store/etcd/etcd_requests.hpp"
#include "store/etcd/etcd_url.hpp"
#include "store/http/http_reader.hpp"
#include "store/other_server.hpp"
#include "sys/transport.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

class EtcdWire {
 public:
  // `interrupt` may be null and must outlive us.
  EtcdWire(EtcdAddress address, const Interrupt* interrupt);

  Result<void> reach(Time limit);

  // Sends all requests in one write; call reach() first. `token`: the token of the login, or empty.
  Result<void> send(const std::vector<EtcdWords>& requests, const std::string& token, Time limit);
  // Receives the next answer. `started`: when the caller's call began, for the text of an error.
  Result<HttpAnswer> receive(Time started, Time limit);
  // Nobody waits for the answers to the newest `count` requests: they are dropped on arrival.
  void skip(std::size_t count) { skipped_ += count; }
  // Receives more lines of a streamed answer, or its end. Returns false if the limit has passed.
  // After Errc::cancelled the connection is kept.
  Result<bool> receive_lines(Time limit);
  std::vector<std::string> take_lines();
  std::optional<HttpAnswer> take_end() { return reader_.next(); }

  bool connected() const { return transport_.has_value(); }
  void disconnect();
  // Drops the connection to this member. The next reach() tries the member after it first.
  void leave();

  // Returns the error for a member's refusal. Drops the connection to the member if another member
  // may give a better answer.
  Error refusal(const EtcdRefusal& refusal);

  std::string where() const { return url_of(address_.servers[server_]); }
  const EtcdAddress& address() const { return address_; }

 private:
  Result<void> connect(Time limit);
  Error unreachable(const Error& error) const;
  Result<std::size_t> feed(Time limit);
  void drop_skipped();
  Error lost(const Error& reason, Time started, Time limit);
  std::string what_listens(const Error& error, Time limit);

  EtcdAddress address_;
  const Interrupt* interrupt_;
  std::optional<Transport> transport_;
  HttpReader reader_;
  std::size_t skipped_ = 0;    // number of answers still to come that will be dropped
  std::size_t server_ = 0;     // index of the member that is connected or will be tried first
  bool heard_ = false;         // the member of this connection has sent something
  bool has_answered_ = false;  // any member has answered as an etcd at least once
  HangUps hang_ups_;           // connections that were closed before the first answer
};

}  // namespace dlock
