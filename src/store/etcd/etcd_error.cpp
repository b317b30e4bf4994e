// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_error.hpp"

#include "base/text.hpp"
#include "store/server_search.hpp"

#include <array>
#include <utility>

namespace dlock {
namespace {

constexpr std::string_view k_no_gateway =
    "its JSON gateway is off, or this is no etcd 3.4 or newer: start it with "
    "--enable-grpc-gateway (with a configuration file etcd 3.4 has it off unless the file says "
    "enable-grpc-gateway: true), or name the port of --listen-client-http-urls";

struct Meaning {
  std::string_view message;  // the start of etcd's message
  Errc code = Errc::refused;
  bool repeat = false;
  bool login = false;
  std::string_view hint = {};
};

// The meanings of etcd's messages. A message that is not in this list is judged by its gRPC code.
// https://github.com/etcd-io/etcd/blob/main/api/v3rpc/rpctypes
constexpr std::array<Meaning, 13> k_messages{{
    {"etcdserver: too many requests", Errc::unavailable, true},
    {"etcdserver: no leader", Errc::unavailable, true},
    {"etcdserver: not leader", Errc::unavailable},
    {"etcdserver: request timed out", Errc::timed_out},
    {"etcdserver: invalid auth token", Errc::denied, false, true},
    {"etcdserver: revision of auth store is old", Errc::denied, false, true},
    {"etcdserver: user name is empty",
     Errc::denied,
     false,
     true,
     "it needs a user in the URL, and the password: set DLOCK_PASSWORD"},
    {"etcdserver: permission denied",
     Errc::denied,
     false,
     false,
     "the role needs readwrite on the keys NAME/ of the lock, as a prefix"},
    {"etcdserver: authentication failed", Errc::denied},
    {"etcdserver: invalid auth management", Errc::denied},
    {"etcdserver: too many operations in txn request",
     Errc::refused,
     false,
     false,
     "fewer names at once, or a larger --max-txn-ops of the server"},
    {"etcdserver: mvcc: database space exceeded",
     Errc::unavailable,
     true,
     false,
     "it takes no writes until it is compacted and `etcdctl alarm disarm` is called"},
    {"etcdserver: corrupt", Errc::refused},
}};

// Indexed by gRPC code: 0 ok … 16 unauthenticated.
constexpr std::array<Errc, 17> k_codes{
    Errc::protocol,     // 0 is not an error
    Errc::unavailable,  // 1 cancelled
    Errc::unavailable,  // 2 unknown
    Errc::refused,      // 3 invalid argument
    Errc::timed_out,    // 4 deadline exceeded
    Errc::refused,      // 5 not found
    Errc::refused,      // 6 already exists
    Errc::denied,       // 7 permission denied
    Errc::unavailable,  // 8 resource exhausted
    Errc::refused,      // 9 failed precondition
    Errc::unavailable,  // 10 aborted
    Errc::refused,      // 11 out of range: a revision, a ttl
    Errc::protocol,     // 12 unimplemented
    Errc::unavailable,  // 13 internal
    Errc::unavailable,  // 14 unavailable
    Errc::unavailable,  // 15 data loss
    Errc::denied,       // 16 unauthenticated
};

constexpr std::array<std::pair<std::string_view, int>, 4> k_code_names{{
    {"InvalidArgument", grpc_code::k_invalid_argument},
    {"PermissionDenied", grpc_code::k_denied},
    {"Unavailable", grpc_code::k_unavailable},
    {"Unauthenticated", grpc_code::k_unauthenticated},
}};

}  // namespace

EtcdRefusal refusal_of(int grpc, std::string_view message) {
  EtcdRefusal refusal{.grpc = grpc, .text = words_of_server(message)};
  const bool known = grpc >= 0 && static_cast<std::size_t>(grpc) < k_codes.size();
  refusal.code = known ? k_codes[static_cast<std::size_t>(grpc)] : Errc::protocol;
  for (const Meaning& one : k_messages) {
    if (!message.starts_with(one.message)) continue;
    refusal.code = one.code;
    refusal.repeat = one.repeat;
    refusal.login = one.login;
    refusal.hint = one.hint;
  }
  return refusal;
}

EtcdRefusal refusal_of(std::string_view rpc_error) {
  constexpr std::string_view k_before_code = "rpc error: code = ";
  constexpr std::string_view k_before_message = " desc = ";
  const auto space = rpc_error.find(k_before_message);
  int grpc = grpc_code::k_unavailable;
  if (!rpc_error.starts_with(k_before_code) || space == std::string_view::npos)
    return refusal_of(grpc, rpc_error);
  const auto name = rpc_error.substr(k_before_code.size(), space - k_before_code.size());
  for (const auto& [its_name, code] : k_code_names)
    if (name == its_name) grpc = code;
  return refusal_of(grpc, rpc_error.substr(space + k_before_message.size()));
}

EtcdRefusal refusal_of_status(int http) {
  constexpr int k_not_found = 404;
  constexpr int k_unauthorized = 401;
  constexpr int k_forbidden = 403;
  constexpr int k_too_many = 429;
  constexpr int k_server_error = 500;
  EtcdRefusal refusal{.code = Errc::protocol, .text = "HTTP status " + std::to_string(http)};
  if (http == k_not_found) {
    refusal.code = Errc::bad_config;
    refusal.hint = k_no_gateway;
  } else if (http == k_unauthorized || http == k_forbidden) {
    refusal.code = Errc::denied;
  } else if (http == k_too_many || http >= k_server_error) {
    refusal.code = Errc::unavailable;
  }
  return refusal;
}

}  // namespace dlock
