// SPDX-License-Identifier: MIT
// What all stores with servers do if a server cannot be reached or does not answer: how they share
// the time among servers, when they stop searching, and the sentences for users. Pure, except that
// share_of() reads the clock.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/transport.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

// Returns the end of the first of `parts` (at least 1) equal shares of the time left until `limit`:
// a silent server must not use up the time of the servers after it.
Time share_of(Time limit, std::size_t parts);

// Returns whether the search for a server ends with this error from one server. The search goes on
// after a server that is down, silent or unknown, whose certificate is not accepted
// (Errc::protocol) or that is of another kind: the other servers may be good. A server whose
// certificate was not accepted was sent nothing secret. The search ends after an interrupt and
// after an error that every server would give, such as a refused password (trying it everywhere may
// lock the account) or a file that cannot be read.
bool ends_search(Errc code);

// Returns "host:port", or the path of a socket.
std::string name_of(const Endpoint& server);

// The servers that could not be used, and why.
class FailedServers {
 public:
  void add(const std::string& server, const Error& why);

  // Returns "" or "h1:1: connection refused; h2:2: no answer; ", for the text before the next
  // reason.
  std::string before() const { return text_.empty() ? "" : text_ + "; "; }

  // Returns the error after the last server has failed. Its code is that of all failures if they
  // have the same code. If the codes differ, or if all servers refused (the primary may be moving),
  // it is Errc::unavailable.
  Error all(const std::string& where) const;

 private:
  std::string text_;
  Errc code_ = Errc::unavailable;
};

// Returns `why`. If a server has answered before, Errc::bad_config in it becomes Errc::unavailable,
// after which the caller tries again: a file of certificates may be missing for a moment while it
// is replaced.
Error while_files_are_replaced(Error why, bool has_answered);

Error stopped_waiting(const std::string& where);
// Returns the error of a call that could not send its request. `failed`: the servers that failed
// before, with their reasons (FailedServers::before()); may be empty.
Error cannot_reach(const std::string& where, const Error& why, const std::string& failed = {});
// Returns the error of a call whose request may have been sent. `started`: when the call began.
// `limit`: the limit of the call.
Error lost_connection(const std::string& where, const Error& why, Time started, Time limit);

// Returns what a server wrote, in printable form, at most 200 bytes.
std::string words_of_server(std::string_view text);
// Returns "WHERE says: TEXT (HINT)"; an empty hint is left out.
std::string server_says(const std::string& where, std::string_view text, std::string_view hint);

}  // namespace dlock
