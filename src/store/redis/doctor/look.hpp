// SPDX-License-Identifier: MIT
// Looks at one Redis server for `dlock doctor`: asks, measures, and changes nothing. Every question
// has a limit; a question that is refused, unknown or not answered leaves its fact unseen.
#pragma once

#include "store/redis/doctor/facts.hpp"
#include "store/redis/redis_client.hpp"
#include "store/redis/redis_keys.hpp"

#include <string>
#include <string_view>

namespace dlock::doctor {

// Does nothing, and shows that scripts work.
inline constexpr ScriptText k_probe_text{"e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "return 1"};
inline constexpr Script k_probe{k_probe_text, k_probe_text};

// The fields of a list whose words alternate between name and value.
Fields fields_in(ReplyView reply);

// Why rights are not seen: without a NAME the trial uses a name that this user may not lock.
inline constexpr std::string_view k_some_names =
    "this user may lock some names only: give one, as \"dlock doctor NAME\"";

struct LookTerms {
  Keys keys;
  bool of_any_name = false;  // no NAME was given: the trial chooses one
  std::string prefix;
  int replicas = 0;  // wanted
  bool is_cluster = false;
  bool has_sentinels = false;
  Time until;
};
// Looks at the server that `client` is connected to, or connects to now. The rights of `terms.keys`
// are looked up; `terms.prefix` begins them.
ServerFacts look_at_server(RedisClient& client, Way way, const LookTerms& terms);

// Looks at a replica: only at what matters if it became the master.
ServerFacts look_at_replica(RedisClient& client, Way way, Time until);

// Looks by a connection of its own, at an endpoint with TLS.
Seen<TlsFacts> look_at_certificate(const Endpoint& endpoint, Time limit);

// The rights of look_rights.cpp, as the server itself says.
Seen<std::vector<Right>> look_at_rights(RedisClient& client, const LookTerms& terms, Time limit);

}  // namespace dlock::doctor
