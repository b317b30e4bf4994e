// SPDX-License-Identifier: MIT
#include "store/server_search.hpp"

#include "base/text.hpp"
#include "store/url/host_port.hpp"
#include "sys/poll_limit.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

Time share_of(Time limit, std::size_t parts) {
  const Time now = BootClock::now();
  return now + (limit - now) / static_cast<Duration::rep>(parts);
}

bool ends_search(Errc code) {
  return code != Errc::not_listening && code != Errc::no_such_host && code != Errc::unavailable &&
         code != Errc::timed_out && code != Errc::refused && code != Errc::protocol;
}

std::string name_of(const Endpoint& server) {
  return server.socket_path.empty() ? text_of(HostPort{server.host, server.port})
                                    : server.socket_path;
}

void FailedServers::add(const std::string& server, const Error& why) {
  const Errc code = why.code == Errc::refused ? Errc::unavailable : why.code;
  code_ = text_.empty() || code == code_ ? code : Errc::unavailable;
  text_ = before() + server + ": " + why.text;
  reach_ = std::min(reach_, why.reach);
}

Error FailedServers::all(const std::string& where) const {
  return {code_, "cannot reach " + where + ": " + text_, reach_};
}

Error while_files_are_replaced(Error why, bool has_answered) {
  if (why.code == Errc::bad_config && has_answered) why.code = Errc::unavailable;
  return why;
}

Error stopped_waiting(const std::string& where) {
  return {Errc::cancelled, "stopped waiting for " + where};
}

Error cannot_reach(const std::string& where, const Error& why, const std::string& failed) {
  if (why.code == Errc::cancelled) return stopped_waiting(where);
  return {why.code, "cannot reach " + where + ": " + failed + why.text, why.reach};
}

Error lost_connection(const std::string& where, const Error& why, Time started, Time limit) {
  if (why.code == Errc::timed_out) return over_limit("no answer from " + where, started, limit);
  if (why.code == Errc::cancelled) return stopped_waiting(where);
  if (why.code == Errc::unavailable)
    return {why.code, "lost the connection to " + where + ": " + why.text};
  return {why.code, where + " " + why.text};
}

std::string words_of_server(std::string_view text) {
  constexpr std::size_t k_most = 200;
  return shortened(printable(text), k_most);
}

std::string server_says(const std::string& where, std::string_view text, std::string_view hint) {
  std::string said = where + " says: " + words_of_server(text);
  return hint.empty() ? said : said + " (" + std::string(hint) + ")";
}

}  // namespace dlock
