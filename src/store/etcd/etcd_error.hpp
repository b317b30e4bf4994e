// SPDX-License-Identifier: MIT
// What it means for us that etcd refuses a request: by its message where that says more than the
// code of gRPC, which is the same for many. Pure.
//
// What is Errc::denied or refused was not carried out. Unavailable and timed_out say nothing of the
// outcome, unless `repeat` is set: then it was not carried out, either, and the same again may be.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct EtcdRefusal {
  Errc code = Errc::refused;
  int grpc = -1;  // its code there; -1: what refused was no etcd
  bool repeat = false;
  bool login = false;          // our token is not valid (any more)
  std::string text = {};       // what the server said: one line, printable
  std::string_view hint = {};  // for people, behind it
};

// https://grpc.github.io/grpc/core/md_doc_statuscodes.html
namespace grpc_code {
inline constexpr int k_invalid_argument = 3;
inline constexpr int k_not_found = 5;
inline constexpr int k_denied = 7;
inline constexpr int k_failed_precondition = 9;
inline constexpr int k_unavailable = 14;
inline constexpr int k_unauthenticated = 16;
}  // namespace grpc_code

EtcdRefusal refusal_of(int grpc, std::string_view message);
// Of a stream, as Go writes it: "rpc error: code = PermissionDenied desc = …".
EtcdRefusal refusal_of(std::string_view rpc_error);
// An answer without a message of etcd: of another server, or of an etcd without its gateway.
EtcdRefusal refusal_of_status(int http);

namespace etcd_says {
inline constexpr std::string_view k_lease_exists = "etcdserver: lease already exists";
inline constexpr std::string_view k_no_lease = "etcdserver: requested lease not found";
inline constexpr std::string_view k_no_auth = "etcdserver: authentication is not enabled";
}  // namespace etcd_says

}  // namespace dlock
