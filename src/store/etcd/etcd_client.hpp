// SPDX-License-Identifier: MIT
// EtcdClient: sends requests to one etcd (its JSON gateway, /v3) and receives their answers.
//
// It promises: a call ends at its limit, including name lookup, connecting and login, or by the
// Interrupt. All requests of a run() travel in one write and are carried out in their order, each
// by itself: requests after a refused one are carried out too. After a call that failed on the way
// (also by a limit or an interrupt) the connection is dropped, so a late answer is never taken for
// the answer to the next request. No request is repeated that may have been carried out. But an
// idle connection that has ended is replaced before the write; and requests that were refused
// because our login had ended are sent once more after a new login.
//
// Errors on the way are those of EtcdWire; for refusals see etcd_error.hpp. Every text names the
// server, but neither user nor password. Used by one thread at a time.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/etcd/etcd_answers.hpp"
#include "store/etcd/etcd_login.hpp"
#include "store/etcd/etcd_requests.hpp"
#include "store/etcd/etcd_url.hpp"
#include "store/etcd/etcd_watch.hpp"
#include "store/etcd/etcd_wire.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace dlock {

class EtcdClient {
 public:
  // `interrupt` may be null and must outlive us.
  EtcdClient(const EtcdAddress& address, const Interrupt* interrupt);

  using Answers = Result<std::vector<EtcdAnswer>>;
  // Carries out the requests. Returns one answer for each, or the first refusal. failure() says
  // which request was refused: those before it were carried out, each one after it was carried out
  // or refused, too. All requests are sent before the first answer is read. So several requests
  // must be small (100 KB together), or both sides may wait until the limit.
  Answers run(const std::vector<EtcdRequest>& requests, Time limit);

  // Sends requests whose answers do not matter, and does not wait for them. They are carried out
  // even if the process ends at once.
  void tell(const std::vector<EtcdRequest>& requests, Time limit);

  // Says how the newest run() failed.
  struct Failure {
    // True: a request was refused. False: the login or the connection failed, and the other fields
    // mean nothing.
    bool refused = false;
    std::size_t request = 0;  // index of the refused request
    int grpc = -1;            // the gRPC code; -1: the refusal did not come from etcd
    bool repeat = false;      // the request was not carried out and may be sent again
  };
  const Failure& failure() const { return failure_; }

  // Returns a time before the first byte of the requests of the newest run() was sent, but after
  // its login.
  Time sent_at() const { return sent_at_; }

  // Returns a watch of this etcd with our login and interrupt, on a separate connection.
  EtcdWatch watch() const { return {wire_.address(), login_, interrupt_}; }

  bool connected() const { return wire_.connected(); }
  void disconnect() { wire_.disconnect(); }
  // Returns the member that is or will be asked: "etcd://host:port".
  std::string where() const { return wire_.where(); }

 private:
  using Reads = std::vector<EtcdRead>;
  Result<void> ask(const std::vector<EtcdRequest>& requests,
                   const std::vector<std::size_t>& which,
                   Reads& reads,
                   Time limit);
  Answers answers_of(Reads reads);

  EtcdWire wire_;
  std::shared_ptr<EtcdLogin> login_;
  const Interrupt* interrupt_;
  Failure failure_;
  Time sent_at_{};
};

}  // namespace dlock
