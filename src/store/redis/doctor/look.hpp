// SPDX-License-Identifier: MIT
// Looks at one Redis server for `dlock doctor`: asks and measures, and changes nothing. Every
// question has a limit; if a question is refused, unknown or not answered, its fact stays unseen.
#pragma once

#include "store/redis/doctor/facts.hpp"
#include "store/redis/redis_client.hpp"
#include "store/redis/redis_keys.hpp"

#include <string>
#include <string_view>

namespace dlock::doctor {

// A script that does nothing, to see that scripts work.
inline constexpr ScriptText k_probe_text{"e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "return 1"};
inline constexpr Script k_probe{k_probe_text, k_probe_text};

// Returns the fields of a list in which names and values alternate.
Fields fields_in(ReplyView reply);

// The reason why rights are unseen if no NAME was given and this user may not lock the name that
// the trial has chosen.
inline constexpr std::string_view k_some_names =
    "this user may lock some names only: give one, as \"dlock doctor NAME\"";

struct LookTerms {
  Keys keys;
  bool of_any_name = false;  // no NAME was given: the trial uses a name of its own
  std::string prefix;
  int replicas = 0;  // how many replicas a grant needs
  bool is_cluster = false;
  bool has_sentinels = false;
  Time until;
};
// Looks at the server to which `client` is or will be connected. The rights are looked up for
// `terms.keys`, which begin with `terms.prefix`.
ServerFacts look_at_server(RedisClient& client, Way way, const LookTerms& terms);

// Looks at a replica: only at what would matter if it became the master.
ServerFacts look_at_replica(RedisClient& client, Way way, Time until);

// Looks at the certificate over a separate connection. The endpoint must have TLS.
Seen<TlsFacts> look_at_certificate(const Endpoint& endpoint, Time limit);

// Looks up, at the server itself, the rights listed in look_rights.cpp.
Seen<std::vector<Right>> look_at_rights(RedisClient& client, const LookTerms& terms, Time limit);

}  // namespace dlock::doctor
