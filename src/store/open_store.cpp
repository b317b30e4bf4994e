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
#include "store/url/host_port.hpp"
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

using Opened = Result<std::unique_ptr<LockStore>>;
using Statements = Result<std::vector<std::string>>;

// What dlock can do with the URL of one kind of store: open() opens the store, examine() examines
// it for `dlock doctor`, and tables() returns the statements that create its tables.
struct Uses {
  Opened (*open)(const StoreOptions&);
  Result<Examination> (*examine)(const StoreOptions&, const ExamineTerms&);
  Statements (*tables)(const StoreOptions&);
};

// Parses the URL of the options, and calls `use` with the result.
template <auto parse, auto use, class Answer, class... More>
Answer with_parsed(const StoreOptions& options, const More&... more) {
  const auto place = parse(options);
  if (!place) return place.error();
  return Answer(use(*place, options, more...));
}

Statements no_tables(const StoreOptions& /*options*/) {
  return std::vector<std::string>{};
}

// k_uses is for stores without tables, k_sql_uses for stores with tables.
template <auto parse, auto open, auto examine>
constexpr Uses k_uses{&with_parsed<parse, open>, &with_parsed<parse, examine>, &no_tables};
template <auto parse, auto open, auto examine, auto tables>
constexpr Uses k_sql_uses{
    &with_parsed<parse, open>, &with_parsed<parse, examine>, &with_parsed<parse, tables>};

// Returns the error for the URL of a store that is not part of this build.
[[maybe_unused]] Error not_built(const StoreOptions& options) {
  return {Errc::bad_config,
          "this dlock was built without " + options.url.substr(0, options.url.find("://")) + "://"};
}
[[maybe_unused]] constexpr Uses k_not_built{
    [](const StoreOptions& options) -> Opened { return not_built(options); },
    [](const StoreOptions& options, const ExamineTerms&) -> Result<Examination> {
      return not_built(options);
    },
    [](const StoreOptions& options) -> Statements { return not_built(options); }};

// Returns a store that takes `peer`, a lock that other programs use (`?with=` in the URL), in
// addition to a row of `rows`. If `peer` is null, returns `rows`.
[[maybe_unused]] std::unique_ptr<LockStore> with_peer(std::unique_ptr<LockStore> rows,
                                                      std::unique_ptr<PeerLock> peer) {
  if (peer == nullptr) return rows;
  return std::make_unique<BesideStore>(std::move(rows), std::move(peer));
}

#ifdef DLOCK_POSTGRES
Opened open_postgres(const PgAddress& address, const StoreOptions& options) {
  auto rows = PostgresStore::open(address, options);
  if (!rows) return rows;
  return with_peer(std::move(*rows), PgPeerLock::open(address, options));
}

std::vector<std::string> postgres_tables(const PgAddress& address,
                                         const StoreOptions& /*options*/) {
  auto all = PostgresStore::tables(address.table);
  const std::string user = address.user.empty() ? user_name() : address.user;
  for (const std::string& grant :
       sql::grants(address.table, "select, insert, update, delete", '"' + printable(user) + '"'))
    all.push_back("-- " + grant);
  return all;
}

constexpr const Uses& k_postgres_uses =
    k_sql_uses<&PostgresStore::address_of, &open_postgres, &examine_postgres, &postgres_tables>;
#else
constexpr const Uses& k_postgres_uses = k_not_built;
#endif

#ifdef DLOCK_MYSQL
std::unique_ptr<LockStore> open_mysql(const MyAddress& address, const StoreOptions& options) {
  return with_peer(MysqlStore::open(address, options), MyPeerLock::open(address, options));
}

std::vector<std::string> mysql_tables(const MyAddress& address, const StoreOptions& /*options*/) {
  auto all = MysqlStore::tables(address.table);
  // dlock changes a waiter's row in the table of lines by deleting it and inserting a new one, so
  // it needs no right to UPDATE that table.
  for (const std::string& grant : sql::grants(
           address.table, "select, insert, delete", '\'' + printable(address.user) + "'@'HOST'"))
    all.push_back("-- " + grant);
  return all;
}

constexpr const Uses& k_mysql_uses =
    k_sql_uses<&MysqlStore::address_of, &open_mysql, &examine_mysql, &mysql_tables>;
#else
constexpr const Uses& k_mysql_uses = k_not_built;
#endif

#ifdef DLOCK_ETCD
constexpr const Uses& k_etcd_uses = k_uses<&EtcdStore::address_of, &EtcdStore::open, &examine_etcd>;
#else
constexpr const Uses& k_etcd_uses = k_not_built;
#endif

#ifdef DLOCK_ZOOKEEPER
constexpr const Uses& k_zookeeper_uses =
    k_uses<&ZkStore::address_of, &ZkStore::open, &examine_zookeeper>;
#else
constexpr const Uses& k_zookeeper_uses = k_not_built;
#endif

#ifdef DLOCK_SQLITE
constexpr const Uses& k_sqlite_uses =
    k_uses<&SqliteStore::place_of, &SqliteStore::open, &examine_sqlite>;
#else
constexpr const Uses& k_sqlite_uses = k_not_built;
#endif

constexpr const Uses& k_redis_uses = k_uses<&redis_place_of, &RedisStore::open, &examine_redis>;
constexpr const Uses& k_local_uses =
    k_uses<&LocalStore::place_of, &LocalStore::open, &examine_local>;

struct Store {
  std::string_view scheme;
  std::string_view form;  // an example of its URL, without the scheme: "://host:6379"
  const Uses& uses;
  bool tls_settings = false;       // its URLs may have TLS settings
  std::string_view with_tls = {};  // the scheme that encrypts, if this one does not
};
constexpr bool k_tls_settings = true;

constexpr std::array<Store, 16> k_stores{{
    {"redis", "://host:6379", k_redis_uses, k_tls_settings, "rediss"},
    {"rediss", "://host:6379", k_redis_uses, k_tls_settings},
    {"redis+sentinel", "://h1,h2,h3/NAME", k_redis_uses, k_tls_settings, "rediss+sentinel"},
    {"rediss+sentinel", "://h1,h2,h3/NAME", k_redis_uses, k_tls_settings},
    {"redis+cluster", "://h1,h2,h3", k_redis_uses, k_tls_settings, "rediss+cluster"},
    {"rediss+cluster", "://h1,h2,h3", k_redis_uses, k_tls_settings},
    {"redis+unix", ":///path", k_redis_uses},
    {"postgresql", "://host/database", k_postgres_uses, k_tls_settings},
    {"mysql", "://host/database", k_mysql_uses, k_tls_settings},
    {"mariadb", "://host/database", k_mysql_uses, k_tls_settings},
    {"etcd", "://h1,h2,h3", k_etcd_uses, k_tls_settings, "etcds"},
    {"etcds", "://h1,h2,h3", k_etcd_uses, k_tls_settings},
    {"zookeeper", "://h1,h2,h3/folder", k_zookeeper_uses, k_tls_settings, "zookeepers"},
    {"zookeepers", "://h1,h2,h3/folder", k_zookeeper_uses, k_tls_settings},
    {"local", ":///dir", k_local_uses},
    {"sqlite", ":///file", k_sqlite_uses},
}};

Result<const Store*> store_of(std::string_view url) {
  const std::string_view said = url.substr(0, url.find(':'));
  const std::string_view scheme = said == "postgres" ? "postgresql" : said;
  const bool is_whole = url.substr(said.size()).starts_with("://");
  for (const Store& store : k_stores) {
    if (scheme != store.scheme) continue;
    if (is_whole) return &store;
    return bad_url("behind " + std::string(said) + ": there are two slashes; write " +
                   std::string(store.scheme) + std::string(store.form));
  }
  if (!is_whole) return bad_url("it has no scheme; write " + store_forms());
  return bad_url("there is no store with this scheme; write " + store_forms());
}

// Returns the store that the URL names. Errc::bad_config: the URL does not encrypt, but a setting
// of TLS is given: it would have no effect.
Result<const Store*> store_for(const StoreOptions& options) {
  auto store = store_of(options.url);
  if (!store || (*store)->with_tls.empty() || !options.tls.said()) return store;
  return Error{Errc::bad_config,
               std::string((*store)->scheme) +
                   ":// is not encrypted: a setting of TLS (--cacert, --cacertdir, --cert, --key, "
                   "--key-password-file, --sni or --insecure) needs " +
                   std::string((*store)->with_tls) + "://"};
}

// Completes an examination: adds the findings about this machine, and escapes control characters in
// texts that came from servers.
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

bool takes_tls_settings(std::string_view url) {
  const auto store = store_of(url);
  return store && (*store)->tls_settings;
}

Result<std::unique_ptr<LockStore>> open_store(const StoreOptions& options) {
  const auto store = store_for(options);
  return store ? (*store)->uses.open(options) : store.error();
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
  const auto store = store_for(options);
  if (!store) return store.error();
  auto all = (*store)->uses.examine(options, terms);
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
    threads.emplace_back([&, i] {
      const auto store = store_for(servers[i]);
      each[i] = store ? k_redis_uses.examine(servers[i], terms) : store.error();
    });
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
  return store ? (*store)->uses.tables(options) : store.error();
}

}  // namespace dlock
