// SPDX-License-Identifier: MIT
#include "store/zookeeper/examine_zookeeper.hpp"

#include "base/duration.hpp"
#include "store/doctor/trial.hpp"
#include "store/url/host_port.hpp"
#include "store/zookeeper/zk_rights.hpp"
#include "store/zookeeper/zk_session.hpp"
#include "store/zookeeper/zk_store.hpp"
#include "store/zookeeper/zk_table.hpp"
#include "sys/transport.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

namespace dlock {

namespace {

std::string url_of(const Endpoint& server) {
  return (server.tls ? "zookeepers://" : "zookeeper://") +
         text_of(HostPort{server.host, server.port});
}

// Returns the rest of the first line that contains `word`, after `word`.
std::string line_behind(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return {};
  const auto from = at + word.size();
  return std::string(text.substr(from, text.find('\n', from) - from));
}

Result<std::string> ask_srvr(const Endpoint& server, const Interrupt* interrupt, Time limit) {
  auto transport = Transport::connect(server, limit, interrupt);
  if (!transport) return transport.error();
  if (auto sent = transport->send("srvr", limit); !sent) return sent.error();
  std::string all;
  std::array<char, 4096> buffer{};
  constexpr std::size_t k_most = std::size_t{64} << 10;
  while (all.size() < k_most) {
    const auto n = transport->receive(buffer.data(), buffer.size(), limit);
    if (!n && all.empty() && n.error().code != Errc::unavailable) return n.error();
    if (!n) break;
    all.append(buffer.data(), *n);
  }
  return all;
}

// Adds the findings about one server. Returns the server's answer to "srvr"; nullopt: the server
// cannot be reached.
std::optional<ZkServerWords> examine_server(const Endpoint& server,
                                            const StoreOptions& options,
                                            const ExamineTerms& terms,
                                            std::vector<Finding>& all) {
  Findings findings(url_of(server));
  const Time soon = std::min(terms.until, BootClock::now() + terms.connect_timeout);
  const auto answer = ask_srvr(server, options.interrupt, soon);
  std::optional<ZkServerWords> words;
  if (!answer) {
    findings.add("connect", judge_connect(answer.error().text));
  } else {
    words = parse_srvr(*answer).value_or(ZkServerWords{});
    findings.add("version", judge_zk_version(words->version));
    findings.add("mode", judge_zk_mode(words->mode));
  }
  for (Finding& finding : findings.take())
    all.push_back(std::move(finding));
  return words;
}

// Returns what tells this store from others: the creation of the URL's folder or, if the URL has no
// folder, the list of servers, because the root node has no creation.
Identity identity_of(ZkSession& session, const ZkAddress& address, Time until) {
  Identity identity{.unseen = ""};
  const bool has_folder = !address.chroot.empty();
  const auto said = session.run({{.op = has_folder ? ZkOp::exists : ZkOp::get_data,
                                  .path = has_folder ? address.chroot : "/zookeeper/config"}},
                                until);
  if (!said) return {.unseen = said.error().text};
  if (said->answers.empty()) return {.unseen = "the session has ended"};
  const ZkAnswer& answer = said->answers.front();
  if (has_folder) {
    const ZkStat& stat = answer.stat;
    identity.add("folder",
                 stat.czxid == 0 ? ""
                                 : address.chroot + " of " + std::to_string(stat.czxid) + " " +
                                       std::to_string(stat.ctime_ms),
                 "the folder is made by the first run");
  } else {
    identity.add("servers",
                 answer.data,
                 "without a folder in the URL, servers that do not tell their list have no name");
  }
  identity.add("layout", address.layout == ZkLayout::kazoo ? "kazoo" : "curator", "");
  return identity;
}

Finding examine_folder(ZkSession& session, const ZkAddress& address, Time soon) {
  const std::string folder = address.chroot.empty() ? "/" : address.chroot;
  const auto answers = zk_answers_of(session, {{.op = ZkOp::get_acl, .path = folder}}, soon);
  if (!answers) return not_seen(answers.error().text);
  if (answers->empty() || answers->front().code != ZkCode::ok)
    return not_seen("the folder is made by the first run");
  return judge_zk_folder(folder, zk_others(answers->front().acl, address.user), address.is_private);
}

// Opens a session with the timeout of a lease, adds what the session shows to the findings and the
// identity, and ends the session at once.
void examine_session(const ZkAddress& address,
                     const StoreOptions& options,
                     const ExamineTerms& terms,
                     Findings& findings,
                     Identity& identity) {
  const Duration ttl = terms.lease.ttl();
  ZkSession session(address, ttl, options.interrupt);
  const Time soon = std::min(terms.until, BootClock::now() + terms.connect_timeout);
  const auto made = session.run({{.op = ZkOp::exists, .path = "/"}}, soon);
  if (!made && made.error().code == Errc::bad_usage) {
    findings.add("session",
                 broken(made.error().text,
                        "a lease is a session, so no run with this --ttl starts",
                        "use a shorter --ttl, or set maxSessionTimeout in zoo.cfg"));
    return;
  }
  if (!made) {
    findings.add("session", not_seen(made.error().text));
    return;
  }
  const Duration real = session.timeout();
  findings.add(
      "session",
      real > ttl ? info("sessions last at least " + format_duration(real),
                        "after a crash a lock is free that late, not after " + format_duration(ttl))
                 : good("sessions of " + format_duration(ttl)));
  const ZkIdentity& mine = session.identity();
  const bool known = mine.password.reveal() == zk_identity_of(mine.number).password.reveal();
  findings.add("password",
               known ? good("sessions can be renewed by nested runs")
                     : warning("passwords of sessions are not those of ZooKeeper",
                               "a nested run cannot renew the lease of the run above it, nor dlock "
                               "renew that of dlock acquire: they end with 79",
                               "use the servers of Apache ZooKeeper"));
  identity = identity_of(session, address, soon);
  if (!address.user.empty()) findings.add("folder", examine_folder(session, address, soon));
  session.quit(soon);
}

}  // namespace

std::optional<ZkServerWords> parse_srvr(std::string_view answer) {
  ZkServerWords words{.version = line_behind(answer, "Zookeeper version: "),
                      .mode = line_behind(answer, "Mode: ")};
  words.version.resize(std::min(words.version.find_first_of("-, "), words.version.size()));
  if (words.version.empty() && words.mode.empty()) return std::nullopt;
  return words;
}

Finding judge_zk_version(const std::string& version) {
  std::array<int, 2> number{};
  if (std::sscanf(version.c_str(), "%d.%d", &number[0], &number[1]) < 2)
    return not_seen("the server does not tell its version (srvr in 4lw.commands.whitelist)");
  const std::string seen = "ZooKeeper " + version;
  if (number < std::array{3, 5})
    return broken(seen, "dlock needs ZooKeeper 3.5 or newer", "upgrade the servers");
  return info(seen);
}

Finding judge_zk_mode(const std::string& mode) {
  if (mode == "standalone")
    return info("the server stands alone", "when it is down, no renewal is confirmed");
  if (!mode.empty()) return good("mode " + mode);
  return broken("the server does not serve, or does not say so",
                "it has no leader, or srvr is not in 4lw.commands.whitelist",
                "start the other servers, or mend the network between them");
}

Finding judge_zk_servers(std::size_t named) {
  if (named > 1) return good("the URL names " + std::to_string(named) + " servers");
  return info("the URL names one server", "when it is down, dlock asks no other");
}

Finding judge_zk_folder(const std::string& folder, const std::string& others, bool is_private) {
  if (others.empty()) return good("no other user may make nodes in " + folder);
  const std::string seen = "other users have rights to " + folder + ": " + others;
  if (is_private) return info(seen, "a lock whose node another user made first is refused");
  return warning(seen,
                 "who makes the node of a lock first may delete its holders: two commands could "
                 "then run",
                 "let setAcl give them no rights there, or use ?acl=private");
}

Examination examine_zookeeper(const ZkAddress& address,
                              const StoreOptions& options,
                              const ExamineTerms& terms) {
  const auto store = ZkStore::open(address, options);
  const auto rival = ZkStore::open(address, options);
  Examination all{.url = store->where()};
  bool any = false;
  for (const Endpoint& server : address.servers) {
    const auto words = examine_server(server, options, terms, all.findings);
    const ZkServerWords said = words.value_or(ZkServerWords{});
    all.servers.push_back({.url = url_of(server),
                           .product = "zookeeper",
                           .version = said.version,
                           .role = said.mode});
    any = any || words.has_value();
  }
  if (!any) return all;
  Findings findings(all.url);
  examine_session(address, options, terms, findings, all.identity);
  Trial trial;
  {
    const Undisturbed signals(terms.calls);
    trial = try_lock(*store, *rival, trial_name(terms.name), signals, terms.until);
  }
  findings.add("servers", judge_zk_servers(address.servers.size()));
  findings.add("trial", judge_trial(trial));
  findings.add("latency", measure_answers(*store, terms, all.servers.front()));
  for (Finding& finding : findings.take())
    all.findings.push_back(std::move(finding));
  return all;
}

}  // namespace dlock
