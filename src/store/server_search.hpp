// SPDX-License-Identifier: MIT
// What the stores with servers have in common when a server cannot be reached or does not answer:
// how the limit is shared among servers, when the search for a server ends, and the sentences that
// a user reads. Pure, but for the clock that share_of() reads.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/transport.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

// When the first of `parts` equal shares of the time left until `limit` ends: a server that is
// silent must not take the time of the servers behind it. `parts` is at least 1.
Time share_of(Time limit, std::size_t parts);

// Whether the search for a server ends with this error of one server. A server that is down, silent
// or unknown, whose certificate is not accepted (Errc::protocol) or that is no server of this kind
// is passed over: the other servers may be good, and it got nothing that it should not have. The
// search ends with an error that every server would give, such as a refused password (trying it
// everywhere may lock the account) or a file that cannot be read, and after an interrupt.
bool ends_search(Errc code);

// "host:port", or the path of a socket.
std::string name_of(const Endpoint& server);

// The servers that were tried in vain, and why.
class FailedServers {
 public:
  void add(const std::string& server, const Error& why);

  // "" or "h1:1: connection refused; h2:2: no answer; ", to stand before the next reason.
  std::string before() const { return text_.empty() ? "" : text_ + "; "; }

  // After the last server. The code is that of all failures if they have one code; else, and if all
  // servers refused (the primary may be moving), it is Errc::unavailable.
  Error all(const std::string& where) const;

 private:
  std::string text_;
  Errc code_ = Errc::unavailable;
};

// A file of certificates may be missing for a moment while it is replaced: once a server has
// answered, Errc::bad_config becomes Errc::unavailable, after which the caller tries again.
Error while_files_are_replaced(Error why, bool has_answered);

Error stopped_waiting(const std::string& where);
// No request was sent. `failed`: as of FailedServers::before().
Error cannot_reach(const std::string& where, const Error& why, const std::string& failed = {});
// A request may have been sent: it began at `started`, and its limit is `limit`.
Error lost_connection(const std::string& where, const Error& why, Time started, Time limit);

// Text of a server: printable, at most 200 bytes.
std::string words_of_server(std::string_view text);
// "WHERE says: TEXT (HINT)"; an empty hint is left out.
std::string server_says(const std::string& where, std::string_view text, std::string_view hint);

}  // namespace dlock
