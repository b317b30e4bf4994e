// SPDX-License-Identifier: MIT
#include "store/redis/sentinel_route.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/server_search.hpp"
#include "store/url/host_port.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>
#include <thread>

namespace dlock {

namespace {

using namespace std::chrono_literals;

// How long one sentinel may take for its answers, including the connection. A call with little time
// left allows less.
constexpr Duration k_sentinel_takes = 500ms;

// Advice if the certificate of a master has a name and not an address: by default sentinels name
// masters by their addresses.
constexpr std::string_view k_rename_master =
    "let the sentinels name it so (resolve-hostnames yes, announce-hostnames yes)";

struct SentinelAnswer {
  Result<MasterWord> word = Error{};
  // If the sentinel does not know the name of our set: the names that it knows.
  std::vector<std::string> known;
};

long long number_of(std::string_view text) {
  long long number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Returns one field of an answer to SENTINEL MASTER, a list in which names and values alternate.
std::string_view field_of(ReplyView fields, std::string_view name) {
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].string() == name) return fields[i + 1].string();
  }
  return {};
}

std::vector<std::string> known_names(RedisClient& sentinel, Time limit) {
  std::vector<std::string> names;
  const auto all = sentinel.call({"SENTINEL", "masters"}, limit);
  for (std::size_t i = 0; all && i < all->reply.size(); ++i)
    names.emplace_back(field_of(all->reply[i], "name"));
  return names;
}

SentinelAnswer ask_sentinel(const RedisAddress& where, const std::string& name, Time limit) {
  RedisClient sentinel(where, nullptr);
  const auto named = sentinel.call({"SENTINEL", "get-master-addr-by-name", name}, limit);
  if (!named) return {.word = named.error(), .known = {}};
  if (named->reply.size() != 2)
    return {.word = MasterWord{}, .known = known_names(sentinel, limit)};
  const auto more = sentinel.call({"SENTINEL", "master", name}, limit);
  if (!more) return {.word = more.error(), .known = {}};
  const ReplyView fields = more->reply.view();
  const auto host = parse_announced_host(named->reply[0].string());
  const auto port = parse_digits(named->reply[1].string(), 65535);
  if (!host || !port)
    return {.word = Error{Errc::protocol, where.text + " names a master without an address"},
            .known = {}};
  return {
      .word = MasterWord{.host = *host,
                         .port = static_cast<std::uint16_t>(*port),
                         .epoch = number_of(field_of(fields, "config-epoch")),
                         .replicas = static_cast<int>(number_of(field_of(fields, "num-slaves"))),
                         .down_after = bounded(std::chrono::milliseconds(
                             number_of(field_of(fields, "down-after-milliseconds"))))},
      .known = {}};
}

std::vector<SentinelAnswer> ask_all(const SentinelSet& set, Time limit) {
  std::vector<SentinelAnswer> answers(set.sentinels.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto ask = [&, i] { answers[i] = ask_sentinel(set.sentinels[i], set.name, limit); };
    try {
      threads.emplace_back(ask);
    } catch (const std::system_error&) {
      ask();  // no thread can be started, so this thread asks the sentinel
    }
  }
  for (std::thread& thread : threads)
    thread.join();
  return answers;
}

// Returns one code for the errors of all sentinels. If one of them is Errc::denied, returns it. If
// all are the same, returns that code, which may mean a mistake of the user. If they differ,
// returns Errc::unavailable, which means an outage.
Errc common_code(const std::vector<SentinelAnswer>& answers) {
  const Errc code = answers.front().word.error().code;
  for (const SentinelAnswer& one : answers) {
    if (one.word.error().code == Errc::denied) return Errc::denied;
    if (one.word.error().code != code) return Errc::unavailable;
  }
  // Errc::timed_out would say that a request may have been carried out. But no question about a
  // lock has been sent, so this is Errc::unavailable.
  return code == Errc::timed_out ? Errc::unavailable : code;
}

Error none_answers(const std::vector<SentinelAnswer>& answers) {
  Error error{common_code(answers), "no sentinel answers: "};
  error.reach = Reach::nothing;
  for (const SentinelAnswer& one : answers) {
    const Error& why = one.word.error();
    // A silent sentinel was asked for the master, but has got no claim.
    const bool silent = why.code == Errc::timed_out && why.reach == Reach::request;
    error.reach = std::min(error.reach, silent ? Reach::connection : why.reach);
  }
  if (error.code == Errc::bad_config) return answers.front().word.error();
  for (const SentinelAnswer& one : answers)
    error.text += (&one == &answers.front() ? "" : "; ") + one.word.error().text;
  return error;
}

Error unknown_name(const std::string& name, const std::vector<SentinelAnswer>& answers) {
  std::set<std::string> known;
  for (const SentinelAnswer& one : answers)
    known.insert(one.known.begin(), one.known.end());
  std::vector<std::string> quoted;
  quoted.reserve(known.size());
  for (const std::string& one : known)
    quoted.push_back(in_quotes(one));
  return {Errc::bad_config,
          "the sentinels know no " + in_quotes(name) +
              (quoted.empty() ? ", and no other name" : ", only " + listed(quoted))};
}

}  // namespace

std::optional<MasterWord> choose_master(const std::vector<MasterWord>& words) {
  const auto votes = [&](const MasterWord& one) {
    return std::count_if(words.begin(), words.end(), [&](const MasterWord& other) {
      return other.host == one.host && other.port == one.port;
    });
  };
  std::optional<MasterWord> best;
  for (const MasterWord& one : words) {
    if (one.host.empty()) continue;
    const bool better = !best || votes(one) > votes(*best) ||
                        (votes(one) == votes(*best) && one.epoch > best->epoch);
    if (better) best = one;
  }
  return best;
}

bool may_have_replica(const std::vector<MasterWord>& words, std::size_t sentinels) {
  const auto known = std::count_if(
      words.begin(), words.end(), [](const MasterWord& one) { return !one.host.empty(); });
  if (static_cast<std::size_t>(known) * 2 <= sentinels) return true;
  return std::any_of(
      words.begin(), words.end(), [](const MasterWord& one) { return one.replicas > 0; });
}

Result<RedisAddress> SentinelRoute::address_of(std::string_view /*key*/, Time limit) {
  const Time now = BootClock::now();
  const auto answers = ask_all(set_, now + std::min<Duration>((limit - now) / 3, k_sentinel_takes));
  std::vector<MasterWord> words;
  for (const SentinelAnswer& one : answers) {
    if (one.word) words.push_back(*one.word);
  }
  if (words.empty()) return while_files_are_replaced(none_answers(answers), has_answered_);
  has_answered_ = true;
  const auto master = choose_master(words);
  if (!master) return unknown_name(set_.name, answers);
  replicas_ = may_have_replica(words, answers.size()) ? 1 : 0;
  down_after_ = master->down_after;
  const auto agrees = [&](const SentinelAnswer& one) {
    return one.word && one.word->host == master->host && one.word->port == master->port;
  };
  spokesman_ = static_cast<std::size_t>(std::find_if(answers.begin(), answers.end(), agrees) -
                                        answers.begin());
  RedisAddress address = server_at(set_.server, master->host, master->port);
  address.must_be_master = true;
  address.endpoint.rename = k_rename_master;
  return address;
}

void SentinelRoute::watch(Time limit) {
  if (subscriber_ && subscriber_->subscribed()) return;
  const Time now = BootClock::now();
  RedisClient sentinel(set_.sentinels.at(spokesman_), nullptr);
  const Time until = now + std::min<Duration>((limit - now) / 3, k_sentinel_takes);
  if (sentinel.subscribe({}, {"+switch-master"}, false, until))
    subscriber_.emplace(std::move(sentinel));
}

bool SentinelRoute::has_switched() {
  if (!subscriber_ || subscriber_->idle()) return false;
  const auto messages = subscriber_->await_messages(BootClock::now());
  if (!messages) subscriber_.reset();
  // The text of the message is "NAME old-host old-port new-host new-port".
  const std::string ours = set_.name + " ";
  return messages && std::any_of(messages->begin(), messages->end(), [&](const Reply& one) {
           return one[2].string().starts_with(ours);
         });
}

}  // namespace dlock
