// SPDX-License-Identifier: MIT
// Finds out which of the rights in dlock-protocol(7) the user has. Since Redis 7 a script can test
// a right without using it (redis.acl_check_cmd).
#include "base/text.hpp"
#include "store/redis/doctor/look.hpp"

#include <array>
#include <charconv>

namespace dlock::doctor {

namespace {

// Tests rights. ARGV contains for each right the number of its words, then the words. Returns for
// each right 1 (allowed) or 0. Returns nil if this server cannot test rights.
constexpr std::string_view k_check = R"lua(
local check, answers, i = redis.acl_check_cmd, {}, 1
while check and ARGV[i] do
  local words = {}
  for j = 1, tonumber(ARGV[i]) do words[j] = ARGV[i + j] end
  i = i + #words + 1
  local known, allowed = pcall(check, unpack(words))
  answers[#answers + 1] = known and allowed and 1 or 0
end
return check and answers or false
)lua";

struct Command {
  // The command's words, separated by blanks; the key or channel is inserted after the first word.
  std::string_view words;
  bool optional = false;
};

constexpr auto k_of_keys = std::to_array<Command>({{"type"},
                                                   {"exists"},
                                                   {"hget f"},
                                                   {"hgetall"},
                                                   {"hlen"},
                                                   {"hkeys"},
                                                   {"hset f v"},
                                                   {"hdel f"},
                                                   {"hincrby f 1"},
                                                   {"pexpire 1"},
                                                   {"pttl"},
                                                   {"get"},
                                                   {"set v"},
                                                   {"del"},
                                                   {"zadd 1 m"},
                                                   {"zrem m"},
                                                   {"zcard"},
                                                   {"zrank m"},
                                                   {"zscore m"},
                                                   {"zrange 0 0"},
                                                   {"zrangebyscore 0 0"},
                                                   {"zcount 0 1", true}});

// A command without a key. ACL SETUSER takes two words as one command: "client|id".
struct Plain {
  std::string_view name;
  std::string_view words;
  bool optional = false;
};
constexpr auto k_of_none = std::to_array<Plain>({{"evalsha", "evalsha x 0"},
                                                 {"eval", "eval x 0"},
                                                 {"time", "time"},
                                                 {"scan", "scan 0", true},
                                                 {"client|id", "client id", true},
                                                 {"client|tracking", "client tracking on", true}});

class Questions {
 public:
  void add(Right right, const std::vector<std::string>& words) {
    rights_.push_back(std::move(right));
    args_.push_back(std::to_string(words.size()));
    args_.insert(args_.end(), words.begin(), words.end());
  }
  // Adds the right to `command` with one key or channel to the list. `at` is the key or channel; it
  // is inserted after the command's first word. `pattern` is what it must match.
  void add_at(const Command& command,
              const std::string& pattern,
              const std::string& at,
              bool optional) {
    const auto parts = split(command.words, ' ');
    std::vector<std::string> words{std::string(parts.front()), at};
    words.insert(words.end(), parts.begin() + 1, parts.end());
    add({words.front(), pattern, false, command.optional || optional}, words);
  }
  void add_plain(const Plain& plain) {
    std::vector<std::string> words;
    for (const std::string_view word : split(plain.words, ' '))
      words.emplace_back(word);
    add({std::string(plain.name), "", false, plain.optional}, words);
  }

  const std::vector<std::string>& args() const { return args_; }
  std::vector<Right> answered(ReplyView answers) {
    for (std::size_t i = 0; i < rights_.size(); ++i)
      rights_[i].granted = answers[i].integer() == 1;
    return std::move(rights_);
  }

 private:
  std::vector<Right> rights_;
  std::vector<std::string> args_;
};

std::string pattern_of(char kind, std::string_view start) {
  return kind + std::string(start) + '*';
}

std::string pattern_of_lock(const LookTerms& terms) {
  return terms.prefix.empty() ? '~' + terms.keys.lock : pattern_of('~', terms.prefix);
}

Questions questions(const LookTerms& terms) {
  using namespace redis_name;
  Questions all;
  const Keys& keys = terms.keys;
  const std::string ours(k_holds.substr(0, k_holds.find(':') + 1));
  const bool tagged = keys.tagged != keys.lock;
  struct Place {
    std::string pattern;
    std::string key;
    bool optional;
  };
  const std::string own = pattern_of_lock(terms);
  const std::array<Place, 4> places{{
      {own, keys.lock, false},
      {pattern_of('~', ours), keys.holds, false},
      {pattern_of('~', k_token), keys.token, false},
      // The keys with the leases of readers and slots.
      {tagged ? pattern_of('~', '{' + terms.prefix) : own,
       keys.tagged + ":o" + std::string(k_lease) + "1",
       true},
  }};
  for (const Command& command : k_of_keys) {
    for (const Place& place : places)
      all.add_at(command, place.pattern, place.key, place.optional);
  }
  for (const Plain& plain : k_of_none)
    all.add_plain(plain);
  if (terms.replicas > 0) all.add_plain({"wait", "wait 1 1"});
  if (terms.is_cluster || terms.has_sentinels) all.add_plain({"role", "role"});
  if (terms.is_cluster) all.add_plain({"cluster|slots", "cluster slots", true});
  // Redis 8.0 refuses to test a command with a wrong number of words, so each command here has the
  // right number.
  const Command hear{terms.is_cluster ? "ssubscribe" : "subscribe"};
  const Command tell{terms.is_cluster ? "spublish m" : "publish m"};
  for (const auto& [start, channel] : {std::pair{k_turn, keys.turn + "x"},
                                       std::pair{k_channel, keys.channel},
                                       std::pair{k_pair_channel, keys.pair_channel}}) {
    all.add_at(hear, pattern_of('&', start), channel, true);
    all.add_at(tell, pattern_of('&', start), channel, true);
  }
  const std::string changes(RedisClient::k_changes);
  all.add_at({"subscribe"}, '&' + changes, changes, true);
  return all;
}

}  // namespace

Seen<std::vector<Right>> look_at_rights(RedisClient& client, const LookTerms& terms, Time limit) {
  Questions all = questions(terms);
  const Words args(all.args().begin(), all.args().end());
  const auto answer = client.call(eval_words(k_check, "0", {}, args), limit);
  if (answer && answer->reply.is_array()) {
    auto rights = all.answered(answer->reply.view());
    const bool any = std::any_of(rights.begin(), rights.end(), [&](const Right& one) {
      return one.granted && one.pattern == pattern_of_lock(terms);
    });
    if (any || !terms.of_any_name) return rights;
    return Seen<std::vector<Right>>::unseen(std::string(k_some_names));
  }
  if (answer) {
    return Seen<std::vector<Right>>::unseen(
        "the server cannot be asked for rights (before Redis 7)");
  }
  if (answer.error().code != Errc::denied) {
    return Seen<std::vector<Right>>::unseen("EVAL", answer.error());
  }
  // Without the right to EVAL the script cannot run, so no other right can be tested. But one thing
  // is known: the right to EVAL is missing.
  const auto by_hash = client.call(evalsha_words("x", "0", {}, {}), limit);
  const bool hash_too = !by_hash && by_hash.error().code == Errc::denied;
  return std::vector<Right>{{"eval", "", false, false}, {"evalsha", "", !hash_too, false}};
}

}  // namespace dlock::doctor
