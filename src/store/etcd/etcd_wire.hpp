// SPDX-License-Identifier: MIT
// EtcdWire: one connection to one member of an etcd: requests of HTTP/1.1 and their answers, in the
// same order. It connects when necessary: to the first member that can be reached, beginning with
// the member of the newest connection, or with the one after it if that connection failed. If the
// cluster has several members, a member's first answer must come within half of a call's limit.
//
// A call ends at its limit, name lookup included, or by the Interrupt. After an error the
// connection is gone, so a late answer never meets the next request. Nothing is resent; reach()
// only replaces an idle connection that has ended.
//
// Errors: as of Transport if there is no connection; unavailable, timed_out, cancelled, protocol.
// Every text names the server, and neither user nor password. One thread at a time.
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

  // Sends all requests in one write, after reach(). `token`: the login's, or empty.
  Result<void> send(const std::vector<EtcdWords>& requests, const std::string& token, Time limit);
  // The next answer. `started`: when the caller's call began, for the text of an error.
  Result<HttpAnswer> receive(Time started, Time limit);
  // Receives more lines of an answer that is a stream, or its end. False: the limit has passed.
  // After Errc::cancelled the connection stays.
  Result<bool> receive_lines(Time limit);
  std::vector<std::string> take_lines();
  std::optional<HttpAnswer> take_end() { return reader_.next(); }

  bool connected() const { return transport_.has_value(); }
  void disconnect();
  // This member is of no use now: the next reach() begins with the member after it.
  void leave();

  // The error for what a member refuses; leaves it if another may do better.
  Error refusal(const EtcdRefusal& refusal);

  std::string where() const { return url_of(address_.servers[server_]); }
  const EtcdAddress& address() const { return address_; }

 private:
  Result<void> connect(Time limit);
  Error unreachable(const Error& error) const;
  Result<std::size_t> feed(Time limit);
  Error lost(const Error& reason, Time started, Time limit);
  std::string what_listens(const Error& error, Time limit);

  EtcdAddress address_;
  const Interrupt* interrupt_;
  std::optional<Transport> transport_;
  HttpReader reader_;
  std::size_t server_ = 0;     // of the connection, or to begin with
  bool heard_ = false;         // the member of this connection has said something
  bool has_answered_ = false;  // etcd did, at least once
  HangUps hang_ups_;           // before that
};

}  // namespace dlock
