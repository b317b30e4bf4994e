// SPDX-License-Identifier: MIT
#include "cmd/claim.hpp"

#include "base/duration.hpp"
#include "base/host_name.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "base/user_name.hpp"
#include "cmd/commands.hpp"
#include "cmd/setting_sources.hpp"
#include "cmd/url_password.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <utility>

namespace dlock {

namespace {

std::string text_of_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Returns the web page of the CI job in which we run; empty if this is no CI job.
std::string ci_job_url() {
  for (const char* const name :
       {"CI_JOB_URL", "BUILDKITE_BUILD_URL", "CIRCLE_BUILD_URL", "BUILD_URL"}) {
    // All who may inspect the lock see this URL, so parts that may contain a secret are left out.
    if (auto url = text_of_environment(name); !url.empty()) return public_part(url);
  }
  const std::string run = text_of_environment("GITHUB_RUN_ID");
  if (run.empty()) return "";
  return text_of_environment("GITHUB_SERVER_URL") + "/" + text_of_environment("GITHUB_REPOSITORY") +
         "/actions/runs/" + run;
}

// Returns the options to open one server, which is the only server or one of a quorum.
StoreOptions store_options(const Settings& settings,
                           const std::string& url,
                           TlsSettings tls,
                           const Interrupt* interrupt) {
  tls.default_file = text_of_environment("SSL_CERT_FILE");
  tls.default_dir = text_of_environment("SSL_CERT_DIR");
  return {.url = url,
          .prefix = settings.prefix,
          .password = settings.password,
          .sentinel_password = settings.sentinel_password,
          .tls = std::move(tls),
          .replicas = settings.replicas,
          .interrupt = interrupt};
}

StoreOptions store_options(const Settings& settings, const Interrupt* interrupt) {
  return store_options(settings, settings.url, settings.tls, interrupt);
}

// Returns an error if the ttl is longer than the quorum delay, the time for which a restarted
// server of a quorum has no vote. After the delay, each lease that the server may have forgotten
// has ended.
Result<void> check_quorum_delay(const Settings& settings) {
  if (settings.quorum_delay == Duration::zero() || settings.ttl <= settings.quorum_delay) return {};
  return Error{
      Errc::bad_usage,
      "a ttl of " + format_duration(settings.ttl) + " is longer than the quorum delay of " +
          format_duration(settings.quorum_delay) +
          ": a server that restarted may have forgotten the lock, and must not vote for so "
          "long; lower --ttl, or raise --quorum-delay for all users of these servers"};
}

// Reports --insecure, even with -q: without verification anyone on the network can pose as the
// server.
void say_insecure(const Settings& settings) {
  if (!settings.tls.insecure) return;
  log(LogLevel::error,
      "--insecure: the certificate of the server is not verified, so anyone on the way can read "
      "and answer for it; name its CA with --cacert FILE");
}

// Logs which store is used. Warns if no setting names a store and the built-in default is probably
// a mistake: below a run whose lock is in another store, or under sudo(8), which drops DLOCK_URL.
void say_store(const Settings& settings, const std::string& where) {
  if (!settings.url_place.empty()) {
    log(LogLevel::info, "the locks are in " + where + " (" + settings.url_place + ")");
    return;
  }
  const std::string here = "no setting names a store, so " + where + " is used";
  const std::vector<AncestorHold> above = inherited_holds();
  const auto is_here = [&](const AncestorHold& hold) { return hold.store == where; };
  if (!above.empty() && std::none_of(above.begin(), above.end(), is_here)) {
    log(LogLevel::warn,
        here + ", but the run above has its lock in " + printable(above.back().store) +
            "; set DLOCK_URL, or url in /etc/dlock/config.toml");
  } else if (!text_of_environment("SUDO_USER").empty()) {
    log(LogLevel::warn,
        here +
            "; sudo drops DLOCK_URL: keep it with --preserve-env=DLOCK_URL, or set url in "
            "/etc/dlock/config.toml");
  } else {
    log(LogLevel::info, here);
  }
}

Result<void> check_named(const Settings& settings) {
  const bool is_named = !settings.url_place.empty() && settings.url_place != k_foreign_url;
  if (!settings.require_url || is_named) return {};
  const std::string other = settings.url_place.empty() ? "the default" : std::string(k_foreign_url);
  return Error{Errc::bad_config,
               "no setting names a store, and require-url refuses " + other +
                   "; set DLOCK_URL, or url in /etc/dlock/config.toml"};
}

// Returns the error of a store that could not be opened. If the URL is wrong, the error also names
// the setting that the URL comes from.
Error about_url(const Settings& settings, const std::string& url, const Error& error) {
  if (error.code != Errc::bad_usage) return error;
  return {
      settings.url_is_option ? Errc::bad_usage : Errc::bad_config,
      settings.url_place + ": cannot use the URL " + in_quotes(shown_url(url)) + ": " + error.text};
}

std::vector<StoreOptions> quorum_options(const Settings& settings) {
  std::vector<StoreOptions> servers;
  for (const Settings::Server& server : settings.quorum)
    servers.push_back(store_options(settings, server.url, server.tls, nullptr));
  return servers;
}

Result<std::unique_ptr<LockStore>> open_quorum(const Settings& settings,
                                               const Interrupt* interrupt) {
  const std::vector<StoreOptions> servers = quorum_options(settings);
  for (const StoreOptions& server : servers) {
    // open_store() only checks the URL here; it does not connect.
    if (auto alone = open_store(server); !alone)
      return about_url(settings, server.url, alone.error());
  }
  return open_quorum(servers, settings.quorum_delay, interrupt);
}

}  // namespace

Result<std::vector<LockName>> parse_names(const std::vector<std::string>& words) {
  std::vector<LockName> names;
  for (const std::string& word : words) {
    auto name = LockName::parse(word);
    if (!name) return name.error();
    names.push_back(std::move(*name));
  }
  return names;
}

Result<std::unique_ptr<LockStore>> open_store(const Settings& settings,
                                              const Interrupt* interrupt) {
  if (auto named = check_named(settings); !named) return named.error();
  auto store = settings.quorum.empty() ? open_store(store_options(settings, interrupt))
                                       : open_quorum(settings, interrupt);
  if (store && wants_fields()) log_store((*store)->where());
  if (store) say_insecure(settings);
  if (store) say_store(settings, (*store)->where());
  return store ? std::move(store) : about_url(settings, settings.url, store.error());
}

Result<Examination> examine_store(const Settings& settings, ExamineTerms terms) {
  if (auto named = check_named(settings); !named) return named.error();
  if (settings.quorum.empty()) {
    InterruptSlot calls;
    terms.calls = &calls;
    auto examination = examine_store(store_options(settings, &calls), terms);
    return examination ? std::move(examination)
                       : about_url(settings, settings.url, examination.error());
  }
  const auto store = open_quorum(settings, nullptr);
  if (!store) return store.error();
  return examine_quorum(quorum_options(settings), (*store)->where(), settings.quorum_delay, terms);
}

Result<std::vector<std::string>> store_tables(const Settings& settings) {
  auto tables = store_tables(store_options(settings, nullptr));
  return tables ? std::move(tables) : about_url(settings, settings.url, tables.error());
}

Result<std::vector<std::string>> keys_of(const LockStore& store,
                                         const std::vector<LockName>& names) {
  std::vector<std::string> keys;
  for (const LockName& name : names) {
    auto key = store.key_of(name);
    if (!key) return key.error();
    keys.push_back(std::move(*key));
  }
  return keys;
}

Error lacks(const LockStore& store, const std::string& what) {
  return {Errc::bad_usage, store.where() + " does not support " + what};
}

Result<void> check_store(const LockStore& store, const Claim& claim, Duration min_hold) {
  struct Need {
    bool is_needed;
    bool is_there;
    const char* what;
  };
  const StoreTraits traits = store.traits();
  const std::array<Need, 9> needs{{
      {claim.mode == Mode::exclusive, traits.exclusive, "--exclusive"},
      {claim.mode == Mode::shared, traits.shared, "--shared"},
      {claim.mode == Mode::slots,
       traits.slots,
       "--slots: a majority of servers cannot count slots; use one URL, or one lock name for each "
       "slot"},
      {claim.names.size() > 1 && !claim.one_from,
       traits.several_names,
       "several locks at once (--and)"},
      {claim.one_from.has_value(),
       traits.one_of,
       "one of several locks (--or): it cannot choose one in a single step"},
      {!claim.ancestors.empty(), traits.nesting, "nested runs of one lock"},
      {claim.once_per > Duration::zero(), traits.once_per, "--once-per"},
      {min_hold > Duration::zero(), traits.keep, "--min-hold"},
      {claim.who.supersede != Supersede::nothing,
       traits.supersede,
       "--supersede: a waiter there does not know which of the others came last"},
  }};
  for (const Need& need : needs) {
    if (need.is_needed && !need.is_there) return lacks(store, need.what);
  }
  if (claim.max_waiters.value_or(0) == 0 || traits.line) return {};
  return Error{Errc::bad_usage,
               store.where() + " has no waiting line: there --max-waiters must be 0"};
}

Result<void> check_replicas(const LockStore& store, const Settings& settings) {
  if (settings.replicas.value_or(0) == 0 || store.traits().replicas) return {};
  return lacks(store, "--replicas; leave it out, or say 0");
}

Result<void> check_detached(const LockStore& store) {
  if (store.traits().detached) return {};
  return lacks(store,
               "acquire, renew and release: the lock of with= ends with its connection, and no "
               "process stays that would keep that open; use run");
}

Result<Prepared> prepare(const std::vector<LockName>& names, const Settings& settings) {
  auto interrupt = std::make_unique<InterruptSlot>();
  auto store = open_store(settings, interrupt.get());
  if (!store) return store.error();
  if (auto fits = check_replicas(**store, settings); !fits) return fits.error();
  if (!settings.quorum.empty()) {
    if (auto fits = check_quorum_delay(settings); !fits) return fits.error();
  }
  auto keys = keys_of(**store, names);
  if (!keys) return keys.error();
  std::string where = (*store)->where();
  return Prepared{.interrupt = std::move(interrupt),
                  .store = std::move(*store),
                  .where = std::move(where),
                  .keys = std::move(*keys)};
}

std::vector<AncestorHold> inherited_holds() {
  return parse_holds(text_of_environment("DLOCK_HOLDS"));
}

std::size_t nesting() {
  std::set<HoldSerial> runs;  // the holds of a run share one serial
  for (const AncestorHold& hold : inherited_holds()) {
    if (!is_of_acquire(hold.serial)) runs.insert(hold.serial);
  }
  return runs.size();
}

HolderInfo who_we_are(long pid, const std::string& command, const Settings& settings) {
  return {
      .host = host_name(),
      .pid = pid,
      .user = user_name(),
      .command = shortened(command, HolderInfo::k_command_bytes_max),
      .reason = shortened(settings.reason.value_or(ci_job_url()), HolderInfo::k_text_bytes_max)};
}

Claim make_claim(std::vector<LockName> names,
                 const std::vector<std::string>& keys,
                 HolderInfo who,
                 const Settings& settings) {
  Claim claim{.names = std::move(names),
              .owner = make_owner_id(::getpid()),
              .serial = make_hold_serial(),
              .ttl = settings.ttl,
              .who = std::move(who),
              .mode = settings.mode,
              .slots = settings.slots,
              .max_waiters = settings.max_waiters};
  for (AncestorHold& hold : inherited_holds()) {
    if (std::find(keys.begin(), keys.end(), hold.key) == keys.end()) continue;
    claim.ancestors.push_back(std::move(hold));
  }
  return claim;
}

Result<void> want_one(Claim& claim, const Settings& settings) {
  if (settings.once_per > Duration::zero())
    return Error{Errc::bad_usage,
                 "--once-per and --or contradict each other: a success is remembered of one lock, "
                 "and the next run may take another"};
  if (settings.supersede != Supersede::nothing)
    return Error{Errc::bad_usage,
                 "--supersede and --or contradict each other: a run that waits for one of several "
                 "locks has no single one before it"};
  // If only one name is left, as of `--or a a`, the claim is that of a single name.
  if (claim.names.size() == 1) return {};
  claim.one_from = random_seed() % claim.names.size();
  return {};
}

Duration keep_last(const LockStore& store, const Settings& settings) {
  constexpr auto k_default = std::chrono::hours(24);  // as long as Redis keeps the fencing token
  return settings.keep_last.value_or(store.traits().cheap_end ? Duration(k_default)
                                                              : Duration::zero());
}

Claim bystander(const LockName& name) {
  return {.names = {name}, .owner = make_owner_id(::getpid()), .serial = "0"};
}

void rely_on_acquired(Claim& claim, const std::string& store) {
  for (const AncestorHold& hold : claim.ancestors) {
    if (hold.store != store || !is_of_acquire(hold.serial)) continue;
    claim.relies_on.push_back(hold_id(hold.owner, hold.serial));
  }
}

AcquireTerms acquire_terms(const Settings& settings) {
  return {.wait = settings.nonblock ? Duration::zero() : settings.wait,
          .connect_timeout = settings.connect_timeout,
          .outage_limit = std::max(settings.ttl, settings.connect_timeout),
          .max_waiters = settings.max_waiters};
}

std::string quoted_names(const std::vector<LockName>& names) {
  std::vector<std::string> quoted;
  quoted.reserve(names.size());
  for (const LockName& name : names)
    quoted.push_back(in_quotes(name.text()));
  return listed(quoted);
}

}  // namespace dlock
