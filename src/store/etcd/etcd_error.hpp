// SPDX-License-Identifier: MIT
// What etcd's refusals mean to dlock. The message decides if it is known; otherwise the gRPC code,
// which many different refusals share. Pure.
//
// A request refused with Errc::denied or refused was not carried out. With unavailable or timed_out
// it may have been, unless `repeat` is set: then it was not carried out either, and may be sent
// again.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct EtcdRefusal {
  Errc code = Errc::refused;
  int grpc = -1;  // the gRPC code; -1: the refusal did not come from etcd
  bool repeat = false;
  bool login = false;          // our token is no longer valid
  std::string text = {};       // the server's text: one line, printable
  std::string_view hint = {};  // advice that follows the text
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
// Reads the error of a stream, as Go writes it: "rpc error: code = PermissionDenied desc = …".
EtcdRefusal refusal_of(std::string_view rpc_error);
// Returns the meaning of a reply without a message of etcd: it comes from another server, or from
// an etcd whose gateway is off.
EtcdRefusal refusal_of_status(int http);

namespace etcd_says {
inline constexpr std::string_view k_lease_exists = "etcdserver: lease already exists";
inline constexpr std::string_view k_no_lease = "etcdserver: requested lease not found";
inline constexpr std::string_view k_no_auth = "etcdserver: authentication is not enabled";
}  // namespace etcd_says

}  // namespace dlock
