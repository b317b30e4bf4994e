// SPDX-License-Identifier: MIT
// Looks at one Redis server for `dlock doctor`: asks questions and measures times, and changes
// nothing. Every question has a limit. If a question is refused, not understood or not answered,
// its fact stays unseen.
#pragma once

#include "store/redis/doctor/facts.hpp"
#include "store/redis/redis_client.hpp"
#include "store/redis/redis_keys.hpp"

#include <string>
#include <string_view>

namespace dlock::doctor {

// A script that does nothing. It shows whether the server runs scripts.
inline constexpr ScriptText k_probe_text{"e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "return 1"};
inline constexpr Script k_probe{k_probe_text, k_probe_text};

// Returns the fields of a reply that is a list in which names and values alternate.
Fields fields_in(ReplyView reply);

// The reason why the rights count as not seen: `dlock doctor` was called without NAME and chose the
// name of a lock to try, but this user may not lock that name, and may be allowed to lock others.
inline constexpr std::string_view k_some_names =
    "this user may lock some names only: give one, as \"dlock doctor NAME\"";

struct LookTerms {
  Keys keys;
  bool of_any_name = false;  // doctor was called without NAME, and chooses a name itself
  std::string prefix;
  int replicas = 0;  // how many replicas must have a grant
  bool is_cluster = false;
  bool has_sentinels = false;
  Time until;
};
// Looks at the server to which `client` is or will be connected. Looks up the rights to the keys
// `terms.keys`, which begin with `terms.prefix`.
ServerFacts look_at_server(RedisClient& client, Way way, const LookTerms& terms);

// Looks at a replica, but only at the facts that would matter if it became the master.
ServerFacts look_at_replica(RedisClient& client, Way way, Time until);

// Looks at the server's certificate, on a connection of its own. The endpoint must have TLS.
Seen<TlsFacts> look_at_certificate(const Endpoint& endpoint, Time limit);

// Asks the server which of the rights that dlock needs (look_rights.cpp) this user has.
Seen<std::vector<Right>> look_at_rights(RedisClient& client, const LookTerms& terms, Time limit);

}  // namespace dlock::doctor
