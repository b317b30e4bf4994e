// SPDX-License-Identifier: MIT
#include "store/redis/doctor/examine_redis.hpp"

#include "base/text.hpp"
#include "store/redis/doctor/look.hpp"
#include "store/redis/doctor/look_set.hpp"
#include "store/redis/doctor/rules.hpp"
#include "store/redis/redis_store.hpp"

#include <algorithm>
#include <variant>

namespace dlock {

namespace {

using doctor::ServerFacts;
using doctor::SetFacts;

constexpr Duration k_trial_takes = std::chrono::seconds(3);

ExaminedServer summary_of(const ServerFacts& server) {
  ExaminedServer summary{.url = server.way.url};
  const auto text = [&](std::string_view name) {
    const auto field = doctor::field_of(server.info, name);
    return field ? *field : std::string();
  };
  summary.product = text("server_name").empty() ? "redis" : text("server_name");
  summary.version = text(summary.product == "valkey" ? "valkey_version" : "redis_version");
  if (summary.version.empty()) summary.product.clear();
  summary.role = server.role ? server.role->word : text("role");
  summary.process = text("run_id");
  if (server.latency && !server.latency->pings.empty()) {
    summary.p50 = doctor::percentile(server.latency->pings, 50);
    summary.p99 = doctor::percentile(server.latency->pings, 99);
  }
  return summary;
}

// Returns what tells this store from other stores. For a cluster it is the list of its masters.
// Otherwise it is the replication id, which a master shares with its replicas and which changes
// with a restart or a failover. The number of the database is added.
Identity identity_of(const SetFacts& set, const StoreOptions& options, int database) {
  Identity identity{.unseen = ""};
  if (set.servers.empty()) return {};
  const ServerFacts& server = set.servers.front();
  if (set.cluster) {
    identity.add("masters", server.masters ? *server.masters : "", server.masters.why());
  } else {
    auto id = doctor::field_of(server.info, "master_replid");
    if (!id) id = doctor::field_of(server.info, "run_id");
    identity.add("server", id ? *id : "", id.why());
  }
  identity.add("database", std::to_string(database), "");
  identity.parts.push_back({"prefix", options.prefix});
  return identity;
}

// Deletes the key with the fencing token of the lock that `dlock doctor` has tried. Otherwise the
// key would stay for a day.
void forget_token(RedisClient& client, const std::string& key, Time limit) {
  // DEL is sent in a script, because only a script is sent to the owner of its key.
  constexpr ScriptText k_text{"b0d697da25b13e49157b2c214a4033546aba2104",
                              "return redis.call('DEL', KEYS[1])"};
  constexpr Script k_delete{k_text, k_text};
  [[maybe_unused]] const auto gone = client.run(k_delete, {Keys(key).token}, {}, limit);
}

// Returns whether the server lets this user in, by its answer to a first question. An error does
// not always mean "no": the user may only lack the right to this question, or the server may be a
// sentinel, which knows few commands.
bool lets_in(const Result<Answer>& hello) {
  if (hello) return true;
  const Error& error = hello.error();
  return error.code == Errc::denied ? error.text.find("NOPERM") != std::string::npos
                                    : error.text.find("unknown command") != std::string::npos;
}

// Returns whether no sentinel has named a master. If the first question has failed, too, there is
// no server to look at. True also for a URL without sentinels.
bool is_hopeless(const SetFacts& set) {
  return std::none_of(set.sentinels.begin(), set.sentinels.end(), [](const auto& one) {
    return !one.unreachable && !one.master.empty();
  });
}

Examination examined(const SetFacts& set, const ExamineTerms& terms) {
  Examination all{.url = set.url, .findings = doctor::judge(set, terms.lease)};
  for (const doctor::SentinelFacts& sentinel : set.sentinels)
    all.servers.push_back({.url = sentinel.url, .role = "sentinel"});
  for (const ServerFacts& server : set.servers)
    all.servers.push_back(summary_of(server));
  return all;
}

RedisClient client_without_role(const RedisClient& client) {
  RedisAddress address = client.address();
  address.must_be_master = false;
  address.counts_replicas = false;
  RedisClient plain = client.client_of(address);
  const auto hello = plain.call({"TIME"}, BootClock::now() + std::chrono::seconds(1));
  return plain;
}

// Returns how many replicas must have a grant, by the options and by what the server says.
int wanted_replicas(RedisClient& client,
                    const StoreOptions& options,
                    const doctor::LookTerms& look) {
  if (options.replicas) return *options.replicas;
  if (!look.is_cluster && !look.has_sentinels) return 0;
  const RedisAddress& asked = client.address();
  // This client does not ask for ROLE (client_without_role()), so it is not known whether the
  // server has a replica.
  if (!asked.must_be_master && !asked.counts_replicas) return 1;
  const auto replicas = client.replicas(look.until);
  return replicas ? *replicas : client.likely_replicas();
}

}  // namespace

Result<Examination> examine_redis(const RedisPlace& place,
                                  const StoreOptions& options,
                                  const ExamineTerms& terms) {
  const auto store = RedisStore::open(place, options);
  const LockName own = trial_name(terms.name);
  const auto key = store->key_of(terms.name.value_or(own));
  if (!key) return key.error();

  SetFacts set{.url = store->where()};
  if (const auto* const sentinels = std::get_if<SentinelSet>(&place))
    set.sentinels = doctor::look_at_sentinels(*sentinels, terms.until);
  RedisClient client = store->another_client();
  const bool is_cluster = std::holds_alternative<ClusterSet>(place);
  const Time soon = std::min(terms.until, BootClock::now() + terms.connect_timeout);
  const auto hello = doctor::first_answer(client, {"TIME"}, is_cluster, soon);
  if (!lets_in(hello)) {
    if (is_hopeless(set)) return hello.error();
    set.servers.push_back({.way = {.url = set.url}, .unreachable = hello.error()});
    return examined(set, terms);
  }
  doctor::LookTerms look{.keys = Keys(*key),
                         .of_any_name = !terms.name,
                         .prefix = options.prefix,
                         .is_cluster = is_cluster,
                         .has_sentinels = !set.sentinels.empty(),
                         .until = terms.until - k_trial_takes};
  // A client normally asks for ROLE when it connects. A user without the right to ROLE cannot
  // connect that way, so doctor connects without it, to be able to report the missing right.
  if (!hello && !client.connected()) client = client_without_role(client);
  if (look.is_cluster) set.cluster = doctor::look_at_cluster(client, look);
  look.replicas = set.wanted_replicas = wanted_replicas(client, options, look);
  set.replicas_by_default = !options.replicas;
  if (client.connected())
    set.servers.push_back(doctor::look_at_server(client, doctor::way_of(client), look));
  // Tries a lock before it looks at the other servers of the set. If the other servers take all the
  // time, then only their facts are missing, and the lock was tried with time enough.
  {
    const auto rival = RedisStore::open(place, options);
    const Undisturbed signals(terms.calls);
    const Time limit = std::min(terms.until, BootClock::now() + k_trial_takes);
    set.trial = try_lock(*store, *rival, own, signals, limit);
    const auto* const rights = set.servers.empty() ? nullptr : &set.servers.front().rights;
    set.trial.of_any_name = rights != nullptr && !*rights && rights->why() == doctor::k_some_names;
    forget_token(client, options.prefix + own.text(), signals.until(limit));
  }
  look.until = terms.until;
  if (look.is_cluster) doctor::add_masters(set, client, look);
  doctor::add_replicas(set, client, look.until);
  Examination all = examined(set, terms);
  all.identity = identity_of(set, options, client.address().db);
  return all;
}

}  // namespace dlock
