// SPDX-License-Identifier: MIT
// Rules about access: who may connect, over what, and with which rights.
#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/redis/doctor/rules.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace dlock::doctor {

namespace {

// A certificate that is valid for less than this time should be replaced now.
constexpr std::chrono::hours k_certificate_lasts(14 * 24);
constexpr std::string_view k_rights_page = "dlock-protocol(7) lists all that dlock needs";

bool is_granted(const Right& right) {
  return right.granted;
}

// Returns false if the right to EVAL is missing. Then no other right was looked up, because that
// takes a script.
bool grants_eval(const std::vector<Right>& rights) {
  return std::all_of(rights.begin(), rights.end(), [](const Right& right) {
    return right.granted || right.command != "eval";
  });
}

// The rights of one kind, to keys (~) or to channels (&), as a table: for each command and each
// pattern, whether the right is granted.
class Table {
 public:
  Table(const std::vector<Right>& rights, char kind) {
    for (const Right& right : rights) {
      if (!right.pattern.empty() && right.pattern.front() == kind) cells_.push_back(right);
    }
    none_ = std::none_of(cells_.begin(), cells_.end(), is_granted);
    for (const Right& cell : cells_) {
      if (!granted_on(cell.pattern)) closed_.insert(cell.pattern);
    }
  }

  // Adds what the user lacks: a pattern for which no command is granted, or a command that is
  // granted for no pattern. If a command is granted for some patterns only (one pattern may allow
  // reading only), adds the patterns for which it is not granted.
  void add_missing(std::set<std::string>& needed, std::set<std::string>& optional) const {
    for (const Right& cell : cells_) {
      if (cell.granted) continue;
      std::set<std::string>& to = cell.optional ? optional : needed;
      const bool closed = closed_.count(cell.pattern) != 0;
      if (none_ || (!closed && !granted_anywhere(cell.command))) {
        to.insert('+' + cell.command);
        if (none_) to.insert(cell.pattern);
      } else {
        to.insert(cell.pattern);
      }
    }
  }

 private:
  bool granted_on(const std::string& pattern) const {
    return std::any_of(cells_.begin(), cells_.end(), [&](const Right& cell) {
      return cell.granted && cell.pattern == pattern;
    });
  }
  bool granted_anywhere(const std::string& command) const {
    return std::any_of(cells_.begin(), cells_.end(), [&](const Right& cell) {
      return cell.granted && cell.command == command;
    });
  }

  std::vector<Right> cells_;
  std::set<std::string> closed_;  // patterns for which no command is granted
  bool none_ = false;             // no right of this kind is granted
};

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string user_of(const ServerFacts& server) {
  return printable(server.user ? *server.user : server.way.user);
}

// Returns whether the setting `bind`, such as "127.0.0.1 -::1", names only loopback addresses. A
// "-" says that the server may start without the address. An empty setting makes the server listen
// on all addresses.
bool is_loopback_only(std::string_view bind) {
  const auto addresses = split(bind, ' ');
  return !bind.empty() && std::all_of(addresses.begin(), addresses.end(), [](std::string_view one) {
    if (one.starts_with('-')) one.remove_prefix(1);
    return one.starts_with("127.") || one == "::1" || one == "localhost";
  });
}

// Returns 60214 for "6.2.14", and 0 for a text that is no version.
int version_number(std::string_view text) {
  int number = 0;
  int parts = 0;
  for (const std::string_view part : split(text, '.')) {
    int value = 0;
    std::from_chars(part.data(), part.data() + part.size(), value);
    number = number * 100 + std::clamp(value, 0, 99);
    if (++parts == 3) return number;
  }
  return 0;
}

}  // namespace

Missing missing_rights(const std::vector<Right>& rights) {
  std::set<std::string> needed;
  std::set<std::string> optional;
  for (const char kind : {'~', '&'})
    Table(rights, kind).add_missing(needed, optional);
  for (const Right& right : rights) {
    if (!right.granted && right.pattern.empty())
      (right.optional ? optional : needed).insert('+' + right.command);
  }
  for (const std::string& word : needed)
    optional.erase(word);
  return {joined(needed), joined(optional)};
}

Finding judge_certificate(const Seen<TlsFacts>& tls, bool insecure) {
  if (insecure) {
    return warning("--insecure: its certificate was not verified",
                   "another machine on the way can answer in its place",
                   "name its CA with --cacert FILE");
  }
  if (!tls) return not_seen(tls.why());
  if (tls->left < k_certificate_lasts) {
    return warning("its certificate ends on " + tls->end,
                   "from then on nothing can connect to it, not even the holders",
                   "replace its files there; a server reads them at CONFIG SET tls-cert-file FILE, "
                   "a sentinel at its start");
  }
  return info(tls->version + ", its certificate is for " + listed(tls->names) + " and ends on " +
              tls->end);
}

Finding judge_connect(const ServerFacts& server, const Terms& /*terms*/) {
  if (server.unreachable) {
    return broken(server.unreachable->text,
                  "it could not be looked at",
                  "see that it runs and can be reached from this machine");
  }
  return server.way.tls ? judge_certificate(server.tls, server.way.insecure) : good("connected");
}

Finding judge_auth(const ServerFacts& server, const Terms& /*terms*/) {
  if (user_of(server) == "default" && !server.way.has_password && !server.way.is_near) {
    return warning(
        "user default, without a password, from another machine",
        "every program that reaches the server can delete and take locks",
        "ACL SETUSER a user of dlock's own, with a password; " + std::string(k_rights_page));
  }
  return info("user " + user_of(server));
}

Finding judge_protect(const ServerFacts& server, const Terms& /*terms*/) {
  if (server.way.has_password && !server.way.is_near && !server.way.tls) {
    return warning("the password travels unencrypted to another machine",
                   "every machine on the way can read it",
                   "use rediss:// (the server needs tls-port)");
  }
  if (!server.open_to_all) return not_seen(server.open_to_all.why());
  if (!*server.open_to_all) return good("a password is needed");
  const auto guarded = field_of(server.config, "protected-mode");
  if (!guarded) return not_seen(guarded.why());
  const auto bind = field_of(server.config, "bind");
  const auto port = number_of(server.config, "port");
  const auto tls_port = number_of(server.config, "tls-port");
  const bool no_port = port && *port == 0 && (!tls_port || *tls_port == 0);
  if (*guarded == "yes" || (bind && is_loopback_only(*bind)) || no_port) {
    return good("without a password, but for this machine only");
  }
  return warning("no password, and protected-mode is no",
                 "every machine that reaches its port can delete and take locks",
                 "give the server a password (ACL SETUSER, requirepass), or bind it to 127.0.0.1");
}

Finding judge_version(const ServerFacts& server, const Terms& /*terms*/) {
  const auto redis = field_of(server.info, "redis_version");
  if (!redis) return not_seen(redis.why());
  for (const auto& [field, product] : {std::pair{"valkey_version", "Valkey"},
                                       std::pair{"dragonfly_version", "Dragonfly"},
                                       std::pair{"garnet_version", "Garnet"}}) {
    if (const auto own = field_of(server.info, field))
      return info(std::string(product) + " " + printable(*own));
  }
  const int number = version_number(*redis);
  if (number != 0 && number < 60200) {
    return broken("Redis " + printable(*redis),
                  "dlock needs commands of Redis 6.2",
                  "upgrade to Redis 6.2 or later, or to Valkey");
  }
  return info("Redis " + printable(*redis));
}

Finding judge_proxy(const ServerFacts& server, const Terms& /*terms*/) {
  const std::string remedy = "let the URL lead to the server itself";
  const std::string text = "sessions, WAIT and key tracking may be those of another connection";
  if (server.role_is_unknown) return warning("it does not know ROLE, as a proxy", text, remedy);
  if (!server.one_connection) return not_seen(server.one_connection.why());
  if (*server.one_connection) return good("each connection is a session of its own");
  return warning("CLIENT ID changes from question to question: it is a proxy", text, remedy);
}

Finding judge_scripts(const ServerFacts& server, const Terms& /*terms*/) {
  if (!server.scripts) return not_seen(server.scripts.why());
  if (server.scripts->empty()) return good("EVALSHA and EVAL work");
  return broken(*server.scripts,
                "dlock cannot work here: each of its steps is a script",
                "allow EVALSHA and EVAL under these names, or use another server");
}

Finding judge_undeclared(const ServerFacts& server, const Terms& /*terms*/) {
  if (!server.undeclared) return not_seen(server.undeclared.why());
  if (server.undeclared->empty()) return good("scripts may use keys that they do not declare");
  return warning("a script may only use the keys that it declares: " + *server.undeclared,
                 "-s and --slots do not work here",
                 "use plain locks and -x only, or another server");
}

Finding judge_rights(const ServerFacts& server, const Terms& /*terms*/) {
  if (!server.rights) return not_seen(server.rights.why());
  const Missing missing = missing_rights(*server.rights);
  const std::string line = "ACL SETUSER " + user_of(server) + " ";
  if (!missing.needed.empty()) {
    const bool asked = grants_eval(*server.rights);
    return broken("missing rights: " + missing.needed,
                  asked ? "dlock cannot work without them"
                        : "dlock cannot work without them, and only a script can look for others",
                  line + missing.needed + (missing.optional.empty() ? "" : " " + missing.optional));
  }
  if (!missing.optional.empty()) {
    return warning("missing rights: " + missing.optional,
                   "waiters ask several times a second, losses are noticed late, or lists fail",
                   line + missing.optional);
  }
  return good("all rights are there");
}

}  // namespace dlock::doctor
