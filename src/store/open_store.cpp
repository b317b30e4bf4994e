// SPDX-License-Identifier: MIT
#include "store/open_store.hpp"

#include "base/duration.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "base/user_name.hpp"
#include "store/doctor/examine_machine.hpp"
#include "store/etcd/etcd_store.hpp"
#include "store/etcd/examine_etcd.hpp"
#include "store/local/examine_local.hpp"
#include "store/local/local_store.hpp"
#include "store/mysql/examine_mysql.hpp"
#include "store/mysql/my_peer_lock.hpp"
#include "store/mysql/mysql_store.hpp"
#include "store/postgres/examine_postgres.hpp"
#include "store/postgres/pg_peer_lock.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/quorum/judge_quorum.hpp"
#include "store/quorum/quorum_store.hpp"
#include "store/redis/doctor/examine_redis.hpp"
#include "store/redis/redis_store.hpp"
#include "store/sql/beside_store.hpp"
#include "store/sql/sql_findings.hpp"
#include "store/sqlite/examine_sqlite.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/zookeeper/examine_zookeeper.hpp"
#include "store/zookeeper/zk_store.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace dlock {

namespace {

using Opener = Result<std::unique_ptr<LockStore>> (*)(const StoreOptions&);
using Examiner = Result<Examination> (*)(const StoreOptions&, const ExamineTerms&);
using Tables = Result<std::vector<std::string>> (*)(const StoreOptions&);

Result<std::unique_ptr<LockStore>> open_local(const StoreOptions& options) {
  return LocalStore::open(options.url, options.interrupt);
}

#ifdef DLOCK_SQLITE
Result<std::unique_ptr<LockStore>> open_sqlite(const StoreOptions& options) {
  return SqliteStore::open(options.url, options.interrupt);
}
#endif

// Puts the peer lock that `?with=` names beside the rows; null: there is no such option.
[[maybe_unused]] Result<std::unique_ptr<LockStore>> with_peer(
    Result<std::unique_ptr<LockStore>> rows, Result<std::unique_ptr<PeerLock>> peer) {
  if (!rows) return rows;
  if (!peer) return peer.error();
  if (*peer == nullptr) return rows;
  return std::unique_ptr<LockStore>(
      std::make_unique<BesideStore>(std::move(*rows), std::move(*peer)));
}

#ifdef DLOCK_POSTGRES
Result<std::unique_ptr<LockStore>> open_postgres(const StoreOptions& options) {
  return with_peer(PostgresStore::open(options), PgPeerLock::open(options));
}

Result<std::vector<std::string>> postgres_tables(const StoreOptions& options) {
  const auto address = parse_pg_url(options.url);
  if (!address) return address.error();
  auto all = PostgresStore::tables(address->table);
  const std::string user = address->user.empty() ? user_name() : address->user;
  for (const std::string& grant :
       sql::grants(address->table, "select, insert, update, delete", '"' + printable(user) + '"'))
    all.push_back("-- " + grant);
  return all;
}
#endif

#ifdef DLOCK_MYSQL
Result<std::unique_ptr<LockStore>> open_mysql(const StoreOptions& options) {
  return with_peer(MysqlStore::open(options), MyPeerLock::open(options));
}

Result<std::vector<std::string>> mysql_tables(const StoreOptions& options) {
  const auto address = parse_my_url(options.url, options.tls);
  if (!address) return address.error();
  auto all = MysqlStore::tables(address->table);
  // A place in the line is replaced, which needs no right to update.
  for (const std::string& grant : sql::grants(
           address->table, "select, insert, delete", '\'' + printable(address->user) + "'@'HOST'"))
    all.push_back("-- " + grant);
  return all;
}
#endif

Result<std::vector<std::string>> no_tables(const StoreOptions& /*options*/) {
  return std::vector<std::string>{};
}

// For a store that this program was built without.
[[maybe_unused]] Result<std::unique_ptr<LockStore>> open_none(const StoreOptions& options) {
  return Error{
      Errc::bad_config,
      "this dlock was built without " + options.url.substr(0, options.url.find("://")) + "://"};
}
[[maybe_unused]] Result<Examination> examine_none(const StoreOptions& options,
                                                  const ExamineTerms& /*terms*/) {
  return open_none(options).error();
}
[[maybe_unused]] Result<std::vector<std::string>> tables_none(const StoreOptions& options) {
  return open_none(options).error();
}

struct Store {
  // A row without an examiner does not compile.
  constexpr Store(std::string_view its_scheme,
                  std::string_view its_form,
                  Opener its_open,
                  Examiner its_examine,
                  Tables its_tables = &no_tables)
      : scheme(its_scheme),
        form(its_form),
        open(its_open),
        examine(its_examine),
        tables(its_tables) {}

  std::string_view scheme;
  std::string_view form;  // of its URLs, after the scheme
  Opener open;
  Examiner examine;
  Tables tables;
};

constexpr std::array<Store, 16> k_stores{{
    {"redis", "://host:6379", &RedisStore::open, &examine_redis},
    {"rediss", "://host:6379", &RedisStore::open, &examine_redis},
    {"redis+sentinel", "://h1,h2,h3/NAME", &RedisStore::open, &examine_redis},
    {"rediss+sentinel", "://h1,h2,h3/NAME", &RedisStore::open, &examine_redis},
    {"redis+cluster", "://h1,h2,h3", &RedisStore::open, &examine_redis},
    {"rediss+cluster", "://h1,h2,h3", &RedisStore::open, &examine_redis},
    {"redis+unix", ":///path", &RedisStore::open, &examine_redis},
#ifdef DLOCK_POSTGRES
    {"postgresql", "://host/database", &open_postgres, &examine_postgres, &postgres_tables},
#else
    {"postgresql", "://host/database", &open_none, &examine_none, &tables_none},
#endif
#ifdef DLOCK_MYSQL
    {"mysql", "://host/database", &open_mysql, &examine_mysql, &mysql_tables},
    {"mariadb", "://host/database", &open_mysql, &examine_mysql, &mysql_tables},
#else
    {"mysql", "://host/database", &open_none, &examine_none, &tables_none},
    {"mariadb", "://host/database", &open_none, &examine_none, &tables_none},
#endif
#ifdef DLOCK_ETCD
    {"etcd", "://h1,h2,h3", &EtcdStore::open, &examine_etcd},
    {"etcds", "://h1,h2,h3", &EtcdStore::open, &examine_etcd},
#else
    {"etcd", "://h1,h2,h3", &open_none, &examine_none},
    {"etcds", "://h1,h2,h3", &open_none, &examine_none},
#endif
#ifdef DLOCK_ZOOKEEPER
    {"zookeeper", "://h1,h2,h3/folder", &ZkStore::open, &examine_zookeeper},
    {"zookeepers", "://h1,h2,h3/folder", &ZkStore::open, &examine_zookeeper},
#else
    {"zookeeper", "://h1,h2,h3/folder", &open_none, &examine_none},
    {"zookeepers", "://h1,h2,h3/folder", &open_none, &examine_none},
#endif
    {"local", ":///dir", &open_local, &examine_local},
#ifdef DLOCK_SQLITE
    {"sqlite", ":///file", &open_sqlite, &examine_sqlite},
#else
    {"sqlite", ":///file", &open_none, &examine_none},
#endif
}};

Error bad(std::string reason) {
  return {Errc::bad_usage, std::move(reason)};
}

Result<const Store*> store_of(std::string_view url) {
  const std::string_view said = url.substr(0, url.find(':'));
  const std::string_view scheme = said == "postgres" ? "postgresql" : said;
  const bool is_whole = url.substr(said.size()).starts_with("://");
  for (const Store& store : k_stores) {
    if (scheme != store.scheme) continue;
    if (is_whole) return &store;
    return bad("behind " + std::string(said) + ": there are two slashes; write " +
               std::string(store.scheme) + std::string(store.form));
  }
  if (!is_whole) return bad("it has no scheme; write " + store_forms());
  return bad("there is no store with this scheme; write " + store_forms());
}

// Ends every examination. Many texts come from servers, which may say anything.
void finish(Examination& all) {
  for (Finding& finding : judge_machine(look_at_machine()))
    all.findings.push_back(std::move(finding));
  all.identity.unseen = printable(all.identity.unseen);
  for (Identity::Part& part : all.identity.parts)
    part.value = printable(part.value);
  for (Finding& finding : all.findings)
    for (std::string* const text : {&finding.server, &finding.seen, &finding.text, &finding.remedy})
      *text = printable(*text);
}

}  // namespace

const std::string& store_forms() {
  static const std::string forms = [] {
    std::string text;
    for (std::size_t i = 0; i < k_stores.size(); ++i) {
      const std::string_view gap = i == 0 ? "" : i + 1 < k_stores.size() ? ", " : " or ";
      text += std::string(gap) + std::string(k_stores[i].scheme) + std::string(k_stores[i].form);
    }
    return text;
  }();
  return forms;
}

Result<std::unique_ptr<LockStore>> open_store(const StoreOptions& options) {
  const auto store = store_of(options.url);
  return store ? (*store)->open(options) : store.error();
}

Result<std::unique_ptr<LockStore>> open_quorum(const std::vector<StoreOptions>& servers,
                                               Duration delay,
                                               const Interrupt* interrupt) {
  if (servers.size() < quorum::k_least || servers.size() > quorum::k_most)
    return Error{
        Errc::bad_config,
        std::to_string(servers.size()) + " URLs are given; give one, or the 3 to 9 of a quorum"};
  std::vector<MemberFiber::Opener> openers;
  for (const StoreOptions& server : servers) {
    const auto store = store_of(server.url);
    if (!store) return store.error();
    constexpr std::array<std::string_view, 3> k_single{"redis", "rediss", "redis+unix"};
    if (std::find(k_single.begin(), k_single.end(), (*store)->scheme) == k_single.end())
      return Error{Errc::bad_config,
                   "a quorum has servers of redis://, rediss:// or redis+unix://, each for itself"};
    openers.emplace_back([server](const Interrupt* own) {
      StoreOptions options = server;
      options.votes = true;
      options.interrupt = own;
      return open_store(options);
    });
  }
  return QuorumStore::open(openers,
                           {.delay = delay, .seed = random_seed(), .interrupt = interrupt});
}

Result<Examination> examine_store(const StoreOptions& options, const ExamineTerms& terms) {
  const auto store = store_of(options.url);
  if (!store) return store.error();
  auto all = (*store)->examine(options, terms);
  if (!all) return all.error();
  finish(*all);
  return all;
}

Result<Examination> examine_quorum(const std::vector<StoreOptions>& servers,
                                   const std::string& where,
                                   Duration delay,
                                   const ExamineTerms& terms) {
  Examination all{.url = where};
  std::string unseen;
  std::size_t good = 0;
  std::vector<std::optional<Result<Examination>>> each(servers.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < servers.size(); ++i)
    threads.emplace_back([&, i] { each[i] = examine_redis(servers[i], terms); });
  for (std::thread& thread : threads)
    thread.join();
  for (auto& answer : each) {
    Result<Examination>& one = *answer;
    if (!one) {
      unseen = one.error().text;
      Findings silent("the quorum");
      silent.add("connect", judge_silent_member(one.error().text));
      for (Finding& finding : silent.take())
        all.findings.push_back(std::move(finding));
      continue;
    }
    ++good;
    if (!one->identity.unseen.empty()) unseen = one->identity.unseen;
    all.identity.add("server", digest_of(one->identity), unseen);
    for (ExaminedServer& server : one->servers)
      all.servers.push_back(std::move(server));
    for (Finding& finding : one->findings)
      all.findings.push_back(std::move(finding));
  }
  all.identity.add("quorum-delay", format_duration(delay), "");
  all.identity.unseen = unseen;
  for (Finding& finding : judge_quorum(all.servers, good, servers.size(), delay))
    all.findings.push_back(std::move(finding));
  finish(all);
  return all;
}

Result<std::vector<std::string>> store_tables(const StoreOptions& options) {
  const auto store = store_of(options.url);
  return store ? (*store)->tables(options) : store.error();
}

}  // namespace dlock
