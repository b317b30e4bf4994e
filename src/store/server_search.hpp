// SPDX-License-Identifier: MIT
// What all stores with servers share: how they divide the time of a call among several servers,
// after which errors they stop searching for a usable server, and the texts of errors. Pure, except
// that share_of() reads the clock.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/transport.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

// Divides the time left until `limit` into `parts` (at least 1) equal shares, and returns the end
// of the first share. A silent server then cannot use up the time of the servers that are tried
// after it.
Time share_of(Time limit, std::size_t parts);

// Returns whether this error from one server ends the search for a usable server. The search goes
// on after a server that is down, silent or unknown, that is of another kind, or whose certificate
// is not accepted (Errc::protocol): another server may be good, and nothing secret was sent to this
// one. The search ends after an interrupt, and after an error that every server would give. Such an
// error is a refused password, because trying it on every server may lock the account, or a file
// that cannot be read.
bool ends_search(Errc code);

// Returns "host:port", or the path of a unix socket.
std::string name_of(const Endpoint& server);

// The servers of one search that could not be used, each with the reason.
class FailedServers {
 public:
  void add(const std::string& server, const Error& why);

  // Returns the text that error messages put before the reason of the last server: "h1:1:
  // connection refused; h2:2: no answer; ". It is empty if no server has failed.
  std::string before() const { return text_.empty() ? "" : text_ + "; "; }

  // Returns the error for a search in which every server has failed. If all failures have the same
  // code, this error has it. If the codes differ, or if every server refused, the code is
  // Errc::unavailable, so that the caller tries again: the primary may be moving from one server to
  // another.
  Error all(const std::string& where) const;

 private:
  std::string text_;
  Errc code_ = Errc::unavailable;
  Reach reach_ = Reach::nothing;  // the farthest of them
};

// Returns the error `why`. If a server has answered before and the code is Errc::bad_config,
// changes the code to Errc::unavailable, after which the caller tries again: a file of certificates
// that was there before may be missing for a moment while it is replaced.
Error while_files_are_replaced(Error why, bool has_answered);

Error stopped_waiting(const std::string& where);
// Returns the error of a call that could not send its request. `failed` is the text of
// FailedServers::before() about the servers that failed earlier in the same call; it may be empty.
Error cannot_reach(const std::string& where, const Error& why, const std::string& failed = {});
// Returns the error of a call that lost its connection after its request may have been sent.
// `started` and `limit` are the start and the limit of the call.
Error lost_connection(const std::string& where, const Error& why, Time started, Time limit);

// Returns at most 200 bytes of a text that a server wrote, with control characters escaped.
std::string words_of_server(std::string_view text);
// Returns "WHERE says: TEXT (HINT)"; an empty hint is left out.
std::string server_says(const std::string& where, std::string_view text, std::string_view hint);

}  // namespace dlock
