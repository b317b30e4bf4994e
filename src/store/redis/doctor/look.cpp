// SPDX-License-Identifier: MIT
#include "store/redis/doctor/look.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/redis/cluster_route.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace dlock::doctor {

namespace {

using namespace std::chrono_literals;

constexpr Duration k_question_takes = 2s;  // limit of one question to the server
// Limit of all measurements of times together.
constexpr Duration k_measuring_takes = 1s;
constexpr int k_pings = 50;
constexpr int k_scripts = 20;
constexpr int k_connects = 5;
// How many entries of the server's slow log are read, at most.
constexpr std::string_view k_most_commands = "128";

constexpr std::string_view k_undeclared = "return redis.call('EXISTS', KEYS[1] .. ':probe')";

constexpr auto k_config = std::to_array<std::string_view>({"appendfsync",
                                                           "save",
                                                           "stop-writes-on-bgsave-error",
                                                           "protected-mode",
                                                           "bind",
                                                           "port",
                                                           "tls-port",
                                                           "maxclients",
                                                           "timeout",
                                                           "tcp-keepalive",
                                                           "client-output-buffer-limit",
                                                           "proto-max-bulk-len",
                                                           "maxmemory-clients",
                                                           "min-replicas-to-write"});

// Returns the ids of the masters that have slots, sorted. `nodes` is the answer to CLUSTER NODES;
// the words of a line in it are: id address flags master ping pong epoch state slot…
std::string masters_of(std::string_view nodes) {
  constexpr std::size_t k_flags = 2, k_first_slot = 8;
  std::vector<std::string> ids;
  for (const std::string_view line : split(nodes, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() > k_first_slot && words[k_flags].find("master") != std::string_view::npos)
      ids.emplace_back(words.front());
  }
  std::sort(ids.begin(), ids.end());
  std::string all;
  for (const std::string& id : ids)
    all += (all.empty() ? "" : " ") + id;
  return all;
}

// Asks one server the questions of doctor. Each question has a limit.
class Look {
 public:
  Look(RedisClient& client, Time until) : client_(client), until_(until) {}

  Time limit() const { return std::min(until_, BootClock::now() + k_question_takes); }
  Result<Answer> ask(const Words& words) { return client_.call(words, limit()); }
  Result<Answer> eval(std::string_view text, const Words& keys = {}) {
    return ask(eval_words(text, std::to_string(keys.size()), keys, {}));
  }

  Seen<TlsFacts> tls() {
    const Endpoint& to = client_.address().endpoint;
    if (to.tls == nullptr) return Seen<TlsFacts>::unseen("it is not met by TLS");
    return look_at_certificate(to, limit());
  }

  Seen<Fields> info() {
    const auto answer = ask({"INFO"});
    if (!answer) return Seen<Fields>::unseen("INFO", answer.error());
    return parse_info(answer->reply.string());
  }

  Seen<Fields> config() {
    Words words{"CONFIG", "GET"};
    words.insert(words.end(), k_config.begin(), k_config.end());
    auto answer = ask(words);
    if (answer) return fields_in(answer->reply.view());
    if (answer.error().code == Errc::denied)
      return Seen<Fields>::unseen("CONFIG GET", answer.error());
    // Before Redis 7, CONFIG GET takes only one name.
    Fields all;
    for (const std::string_view name : k_config) {
      answer = ask({"CONFIG", "GET", name});
      if (!answer) return Seen<Fields>::unseen("CONFIG GET", answer.error());
      all.merge(fields_in(answer->reply.view()));
    }
    return all;
  }

  void role(ServerFacts& facts) {
    const auto answer = ask({"ROLE"});
    if (!answer) {
      facts.role_is_unknown = answer.error().code == Errc::refused;
      facts.role = Seen<Role>::unseen("ROLE", answer.error());
      return;
    }
    Role role{std::string(answer->reply[0].string()), {}, {}};
    if (role.word == "slave") {
      role.master =
          std::string(answer->reply[1].string()) + ":" + std::to_string(answer->reply[2].integer());
    }
    const ReplyView replicas = answer->reply[2];
    for (std::size_t i = 0; role.word == "master" && i < replicas.size(); ++i)
      role.replicas.push_back(
          {std::string(replicas[i][0].string()), port_of(replicas[i][1].string())});
    facts.role = std::move(role);
  }

  Seen<std::string> user() {
    const auto answer = ask({"ACL", "WHOAMI"});
    if (!answer) return Seen<std::string>::unseen("ACL WHOAMI", answer.error());
    return std::string(answer->reply.string());
  }

  // Returns the error with which the server refuses scripts; empty: it runs them.
  Seen<std::string> scripts() {
    auto answer = ask(evalsha_words(k_probe.server.sha1, "0", {}, {}));
    const bool unknown = !answer && answer.error().text.find("NOSCRIPT") != std::string::npos;
    if (answer || unknown) answer = eval(k_probe.server.text);
    if (answer) return std::string();
    if (answer.error().code == Errc::refused) return answer.error().text;
    return Seen<std::string>::unseen(unknown ? "EVAL" : "EVALSHA", answer.error());
  }

  Seen<std::string> undeclared(const Keys& keys) {
    const auto answer = eval(k_undeclared, {keys.holds});
    if (answer) return std::string();
    const bool by_rights = answer.error().text.find("The user executing") != std::string::npos;
    if (answer.error().code == Errc::refused && !by_rights) return answer.error().text;
    return Seen<std::string>::unseen("EXISTS in a script", answer.error());
  }

  Seen<long long> sentinels() {
    const auto answer = ask({"PUBSUB", "NUMSUB", "__sentinel__:hello"});
    if (!answer) return Seen<long long>::unseen("PUBSUB", answer.error());
    return answer->reply[1].integer();
  }

  Seen<bool> one_connection() {
    const auto first = ask({"CLIENT", "ID"});
    const auto second = ask({"CLIENT", "ID"});
    if (!first || !second)
      return Seen<bool>::unseen("CLIENT ID", first ? second.error() : first.error());
    return first->reply.integer() == second->reply.integer();
  }

  // Asks on a new connection without a password, and returns whether the server answers.
  Seen<bool> open_to_all() {
    RedisAddress address = client_.address();
    address.user.clear();
    address.password = Secret();
    address.db = 0;
    address.must_be_master = false;
    RedisClient stranger(address, nullptr);
    const auto answer = stranger.call({"TIME"}, limit());
    if (answer) return true;
    if (answer.error().code == Errc::denied) return false;
    return Seen<bool>::unseen("a connection without a password", answer.error());
  }

  // Reads the answer to CLUSTER NODES. The text line of the asked node ends with the slots that are
  // moving to or from it: "[93->-id]" and "[93-<-id]".
  void nodes(ServerFacts& facts) {
    using Slots = Seen<std::vector<std::string>>;
    const auto answer = ask({"CLUSTER", "NODES"});
    if (!answer) {
      facts.open_slots = Slots::unseen("CLUSTER NODES", answer.error());
      facts.has_replica = Seen<bool>::unseen("CLUSTER NODES", answer.error());
      facts.masters = Seen<std::string>::unseen("CLUSTER NODES", answer.error());
      return;
    }
    facts.masters = masters_of(answer->reply.string());
    facts.has_replica = has_replica_here(answer->reply.string());
    std::vector<std::string> all;
    for (const std::string_view line : split(answer->reply.string(), '\n')) {
      if (line.find("myself") == std::string_view::npos) continue;
      for (const std::string_view word : split(line, ' ')) {
        if (word.front() == '[') all.emplace_back(word.substr(1, word.find('-') - 1));
      }
    }
    facts.open_slots = std::move(all);
  }

  Seen<std::vector<Slow>> slow_log() {
    const auto answer = ask({"SLOWLOG", "GET", k_most_commands});
    if (!answer) return Seen<std::vector<Slow>>::unseen("SLOWLOG", answer.error());
    std::vector<Slow> all;
    for (std::size_t i = 0; i < answer->reply.size(); ++i) {
      const ReplyView entry = answer->reply[i];
      all.push_back({std::string(entry[3][0].string()),
                     bounded(std::chrono::microseconds(entry[2].integer()))});
    }
    return all;
  }

  Seen<std::vector<Slow>> events() {
    const auto answer = ask({"LATENCY", "LATEST"});
    if (!answer) return Seen<std::vector<Slow>>::unseen("LATENCY", answer.error());
    std::vector<Slow> all;
    for (std::size_t i = 0; i < answer->reply.size(); ++i) {
      const ReplyView event = answer->reply[i];
      all.push_back(
          {std::string(event[0].string()), bounded(std::chrono::milliseconds(event[3].integer()))});
    }
    return all;
  }

  Latency latency() {
    Latency all;
    const Time enough = std::min(until_, BootClock::now() + k_measuring_takes);
    for (int i = 0; i < k_pings && BootClock::now() < enough; ++i)
      // Measures with TIME, because this user may lack the right to PING.
      measure(all.pings, [&] { return ask({"TIME"}).has_value(); });
    for (int i = 0; i < k_scripts && BootClock::now() < enough; ++i)
      measure(all.scripts, [&] { return eval(k_probe.server.text).has_value(); });
    for (int i = 0; i < k_connects && BootClock::now() < enough; ++i) {
      RedisClient another = client_.another();
      measure(all.connects, [&] { return another.call({"TIME"}, limit()).has_value(); });
    }
    return all;
  }

 private:
  static std::uint16_t port_of(std::string_view text) {
    std::uint16_t port = 0;
    std::from_chars(text.data(), text.data() + text.size(), port);
    return port;
  }
  template <class Ask>
  static void measure(std::vector<Duration>& all, Ask asked) {
    const Time since = BootClock::now();
    if (asked()) all.push_back(BootClock::now() - since);
  }

  RedisClient& client_;
  Time until_;
};

// One comparison of the server's clock with ours. Two comparisons, before and after the other
// questions, show how fast the server's clock runs.
struct Moment {
  Duration there{};
  Time before;
  Time after;
};

Result<Moment> ask_time(Look& look) {
  const Time before = BootClock::now();
  const auto answer = look.ask({"TIME"});
  if (!answer) return answer.error();
  const auto number = [&](std::size_t i) {
    const std::string_view text = answer->reply[i].string();
    long long value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return std::max(value, 0LL);
  };
  const Duration there =
      bounded(std::chrono::seconds(number(0))) + bounded(std::chrono::microseconds(number(1)));
  return Moment{bounded(there), before, BootClock::now()};
}

// Compares the clocks up to three times, and returns the comparison with the quickest answer. The
// time that an answer takes is the uncertainty of a comparison, and a pause of this host could
// lengthen it.
Result<Moment> moment(Look& look) {
  constexpr auto k_quick = 1ms;
  auto best = ask_time(look);
  for (int more = 2; more > 0 && best && best->after - best->before > k_quick; --more) {
    const auto next = ask_time(look);
    if (next && next->after - next->before < best->after - best->before) best = next;
  }
  return best;
}

Clock compare(const Moment& first, const Moment& last) {
  const auto seconds = [](auto span) { return std::chrono::duration<double>(span).count(); };
  const double here = seconds(last.after - first.after);
  const double doubt = seconds((first.after - first.before) + (last.after - last.before));
  const Time middle = last.before + (last.after - last.before) / 2;
  return {.rate = seconds(last.there - first.there) / here,
          .uncertainty = doubt / here,
          .ahead = last.there - middle.time_since_epoch()};
}

// Compares the clocks again, and returns the rate of the server's clock since `first`. Before that
// it waits, for a second at most, until the uncertainty of the comparisons is small against the
// time between them.
Seen<Clock> clock_since(Look& look, const Result<Moment>& first) {
  if (!first) return Seen<Clock>::unseen("TIME", first.error());
  constexpr double k_sure = 0.003;
  for (;;) {
    const auto last = moment(look);
    if (!last) return Seen<Clock>::unseen("TIME", last.error());
    if (last->after <= first->after) continue;
    const Clock clock = compare(*first, *last);
    if (clock.uncertainty < k_sure || last->after - first->after > 1s) return clock;
    ::poll(nullptr, 0, 10);
  }
}

}  // namespace

Fields fields_in(ReplyView reply) {
  Fields all;
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2)
    all[std::string(reply[i].string())] = reply[i + 1].string();
  return all;
}

Seen<TlsFacts> look_at_certificate(const Endpoint& endpoint, Time limit) {
  auto facts = Transport::look_at_tls(endpoint, limit, nullptr);
  if (!facts) return Seen<TlsFacts>::unseen("the TLS handshake", facts.error());
  return std::move(*facts);
}

ServerFacts look_at_replica(RedisClient& client, Way way, Time until) {
  Look look(client, until);
  ServerFacts facts{.way = std::move(way)};
  const auto hello = look.ask({"TIME"});
  if (!hello && hello.error().code != Errc::denied) facts.unreachable = hello.error();
  if (facts.unreachable) return facts;
  const auto first = moment(look);  // clock_since() makes the second comparison
  facts.tls = look.tls();
  facts.info = look.info();
  facts.config = look.config();
  look.role(facts);
  facts.events = look.events();
  facts.clock = clock_since(look, first);
  return facts;
}

ServerFacts look_at_server(RedisClient& client, Way way, const LookTerms& terms) {
  Look look(client, terms.until);
  ServerFacts facts{.way = std::move(way)};
  const auto first = moment(look);
  facts.tls = look.tls();
  facts.info = look.info();
  facts.config = look.config();
  look.role(facts);
  facts.user = look.user();
  facts.open_to_all = look.open_to_all();
  facts.scripts = look.scripts();
  if (!facts.way.is_other) facts.undeclared = look.undeclared(terms.keys);
  if (terms.is_cluster) look.nodes(facts);
  facts.rights = look_at_rights(client, terms, look.limit());
  facts.sentinels = look.sentinels();
  facts.one_connection = look.one_connection();
  facts.slow_log = look.slow_log();
  facts.events = look.events();
  facts.latency = look.latency();
  facts.clock = clock_since(look, first);
  return facts;
}

}  // namespace dlock::doctor
