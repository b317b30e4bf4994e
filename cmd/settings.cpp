// SPDX-License-Identifier: MIT
#include "cmd/settings.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cmd/setting_values.hpp"

#include <array>
#include <cctype>
#include <utility>

namespace dlock {

namespace {

template <auto Member>
Result<void> set_text(Settings& settings, std::string_view value) {
  settings.*Member = value;
  return {};
}

template <auto Member>
Result<void> set_duration(Settings& settings, std::string_view value) {
  auto duration = parse_duration(value);
  if (!duration) return duration.error();
  settings.*Member = *duration;
  return {};
}

Result<void> set_signal(Settings& settings, std::string_view value) {
  auto number = parse_signal(value);
  if (!number) return number.error();
  settings.stop_signal = *number;
  return {};
}

Result<void> set_ttl(Settings& settings, std::string_view value) {
  auto ttl = parse_duration(value);
  if (!ttl) return ttl.error();
  if (!LeaseTerms::is_ttl(*ttl)) return wrong(value, "between 1s and 365d");
  settings.ttl = *ttl;
  return {};
}

Result<void> set_file(std::string& path, std::string_view value) {
  if (value.empty()) return wrong(value, "the name of a file");
  path = value;
  return {};
}

template <std::string Settings::*Member>
Result<void> set_named_file(Settings& settings, std::string_view value) {
  return set_file(settings.*Member, value);
}

template <std::string TlsSettings::*Member>
Result<void> set_tls_file(Settings& settings, std::string_view value) {
  return set_file(settings.tls.*Member, value);
}

// Refuses a leading dot: OpenSSL takes ".example.org" for all names that end with it
// (X509_check_host(3)).
Result<void> set_sni(Settings& settings, std::string_view value) {
  if (value.starts_with('.')) return wrong(value, "a whole name, without a dot in front");
  settings.tls.sni = value;
  return {};
}

Result<void> set_insecure(Settings& settings, std::string_view value) {
  return set_bool(settings.tls.insecure, value);
}

Result<void> set_require_url(Settings& settings, std::string_view value) {
  return set_bool(settings.require_url, value);
}

Result<void> set_result_file(Settings& settings, std::string_view value) {
  return set_file(settings.result_file.emplace(), value);
}

Result<void> set_metrics_dir(Settings& settings, std::string_view value) {
  if (value.empty()) return wrong(value, "the name of a directory");
  settings.metrics_dir = value;
  return {};
}

Result<void> set_notify_on(Settings& settings, std::string_view value) {
  auto events = parse_notify_events(value);
  if (!events) return events.error();
  settings.notify_on = std::move(*events);
  return {};
}

Result<void> set_connect_timeout(Settings& settings, std::string_view value) {
  auto timeout = parse_duration(value);
  if (!timeout) return timeout.error();
  if (*timeout < std::chrono::milliseconds(10)) return wrong(value, "at least 10ms");
  settings.connect_timeout = *timeout;
  return {};
}

Result<void> set_replicas(Settings& settings, std::string_view value) {
  auto count = parse_int(value, 0, 100, "a number of replicas from 0 to 100");
  if (!count) return count.error();
  settings.replicas = *count;
  return {};
}

Result<void> set_password(Settings& settings, std::string_view value) {
  settings.password = Secret(std::string(value));
  return {};
}

Result<void> set_verbose(Settings& settings, std::string_view value) {
  if (value == "true" || value == "false") value = value == "true" ? "1" : "0";
  auto level = parse_int(value, 0, 9, "a number from 0 to 9");
  if (!level) return level.error();
  settings.verbose = *level;
  if (*level > 0) settings.quiet = false;
  return {};
}

Result<void> set_quiet(Settings& settings, std::string_view value) {
  auto set = set_bool(settings.quiet, value);
  if (settings.quiet) settings.verbose = 0;
  return set;
}

Result<void> set_log_format(Settings& settings, std::string_view value) {
  return set_word(settings.log_json, value, {{"text", false}, {"json", true}});
}

// If `value` is true, sets the mode to `Which`. If `value` is false, and the mode is `Which`, sets
// the mode back to plain. The last call wins; the settings of a file or of the environment are set
// in the order of all_settings().
template <Mode Which>
Result<void> set_mode(Settings& settings, std::string_view value) {
  bool on = false;
  auto set = set_bool(on, value);
  if (!set) return set;
  if (on) {
    settings.mode = Which;
  } else if (settings.mode == Which) {
    settings.mode = Mode::plain;
  }
  return {};
}

Result<void> set_slots(Settings& settings, std::string_view value) {
  auto count = parse_int(value, 1, 1000, "a number of slots from 1 to 1000");
  if (!count) return count.error();
  settings.mode = Mode::slots;
  settings.slots = static_cast<std::uint32_t>(*count);
  return {};
}

Result<void> set_max_hold(Settings& settings, std::string_view value) {
  auto duration = parse_duration(value);
  if (!duration) return duration.error();
  if (*duration == Duration::zero()) return wrong(value, "longer than 0");
  settings.max_hold = *duration;
  return {};
}

Result<void> set_no_renew(Settings& settings, std::string_view value) {
  bool off = false;
  auto set = set_bool(off, value);
  if (set) settings.renew = !off;
  return set;
}

Result<void> set_nonblock(Settings& settings, std::string_view value) {
  auto set = set_bool(settings.nonblock, value);
  if (settings.nonblock) settings.wait.reset();
  return set;
}

Result<void> set_wait(Settings& settings, std::string_view value) {
  settings.nonblock = false;
  return set_duration<&Settings::wait>(settings, value);
}

Result<void> set_conflict_exit_code(Settings& settings, std::string_view value) {
  auto code = parse_int(value, 0, 255, "an exit status from 0 to 255");
  if (!code) return code.error();
  settings.conflict_exit_code = *code;
  return {};
}

Result<void> set_max_waiters(Settings& settings, std::string_view value) {
  auto count = parse_int(value, 0, 1000000, "a number of waiters from 0 to 1000000");
  if (!count) return count.error();
  settings.max_waiters = static_cast<std::uint64_t>(*count);
  return {};
}

Result<void> set_on_lost(Settings& settings, std::string_view value) {
  return set_word(settings.on_lost, value, {{"stop", OnLost::stop}, {"warn", OnLost::warn}});
}

Result<void> set_on_unavailable(Settings& settings, std::string_view value) {
  return set_word(
      settings.on_unavailable,
      value,
      {{"fail", OnUnavailable::fail}, {"skip", OnUnavailable::skip}, {"run", OnUnavailable::run}});
}

Result<void> set_supersede(Settings& settings, std::string_view value) {
  return set_word(settings.supersede,
                  value,
                  {{"none", Supersede::nothing},
                   {"waiting", Supersede::waiting},
                   {"holder", Supersede::holder}});
}

Result<void> set_contain(Settings& settings, std::string_view value) {
  return set_bool(settings.contain, value);
}

Result<void> set_color(Settings& settings, std::string_view value) {
  return set_word(
      settings.color,
      value,
      {{"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}});
}

using S = Settings;
constexpr std::string_view k_run = "run", k_take = "run acquire", k_wait = "run acquire wait";

// clang-format off
constexpr auto k_settings = std::to_array<Setting>({
    // The store.
    {"url", "--url", "URL",
     "where the locks are kept: ", "",
     &set_text<&S::url>, "redis://127.0.0.1:6379"},
    {"require-url", "--require-url", "",
     "refuse to run where no setting names the store", "", &set_require_url},
    {"prefix", "--prefix", "TEXT",
     "put before each name to form the key in Redis (default dlock:)", "",
     &set_text<&S::prefix>, "dlock:"},
    {"connect-timeout", "--connect-timeout", "DUR",
     "how long to retry an unreachable store (default 5s)", "",
     &set_connect_timeout, "5s"},
    {"quorum-delay", "--quorum-delay", "DUR",
     "how long a restarted server of several has no vote (default 60s)", "",
     &set_duration<&S::quorum_delay>, "60s"},
    {"replicas", "--replicas", "N",
     "a grant or renewal counts when N replicas have it (default 0, sets 1)",
     "run acquire renew doctor", &set_replicas},
    {"password", "", "TEXT", "", "", &set_password},
    {"password-file", "--password-file", "FILE",
     "a file that holds the password for the store", "", &set_named_file<&S::password_file>},
    {"sentinel-password-file", "--sentinel-password-file", "FILE",
     "a file that holds the password for the sentinels", "",
     &set_named_file<&S::sentinel_password_file>},
    {"cacert", "--cacert", "FILE",
     "the CAs to trust with TLS, PEM (default: the system's)", "",
     &set_tls_file<&TlsSettings::cacert>},
    {"cacertdir", "--cacertdir", "DIR",
     "the same: a directory with hashed names (openssl rehash)", "",
     &set_tls_file<&TlsSettings::cacertdir>},
    {"cert", "--cert", "FILE",
     "the certificate to present with TLS, PEM; needs --key", "",
     &set_tls_file<&TlsSettings::cert>},
    {"key", "--key", "FILE",
     "the private key of --cert, PEM", "", &set_tls_file<&TlsSettings::key>},
    {"key-password-file", "--key-password-file", "FILE",
     "a file that holds the password of --key", "", &set_named_file<&S::key_password_file>},
    {"sni", "--sni", "NAME",
     "with TLS: the server's name, in place of the URL's host", "", &set_sni},
    {"insecure", "--insecure", "",
     "do not verify the server's certificate: anyone can be the server", "", &set_insecure},
    {"verbose", "-v,--verbose", "",
     "log lock events; twice: also every call to the store", "", &set_verbose,
     {}, "loudness"},
    {"quiet", "-q,--quiet", "", "log errors only", "", &set_quiet, {}, "loudness"},
    {"log-format", "--log-format", "text|json",
     "the format of messages (default text)", "", &set_log_format, "text"},
    {"color", "--color", "WHEN", "auto, always or never (default auto)", "", &set_color, "auto"},
    // The claim.
    {"shared", "-s,--shared", "",
     "share the lock with other shared holders", k_take, &set_mode<Mode::shared>, {}, "mode"},
    {"exclusive", "-x,--exclusive", "",
     "hold the lock alone, as the writer of a read-write lock", k_take,
     &set_mode<Mode::exclusive>, {}, "mode"},
    {"slots", "--slots", "N",
     "hold one of N slots: at most N holders at a time", k_take, &set_slots, {}, "mode"},
    {"nonblock", "-n,--nb,--nonblock", "",
     "give up at once if the lock is busy", k_wait, &set_nonblock, {}, "patience"},
    {"wait", "-w,--wait,--timeout", "DUR",
     "give up after DUR; 0 is -n (default: wait for ever)", k_wait, &set_wait, {}, "patience"},
    {"conflict-exit-code", "-E,--conflict-exit-code", "N",
     "exit status when the lock is busy (default 75)", k_wait, &set_conflict_exit_code},
    {"max-waiters", "--max-waiters", "N",
     "give up at once if N waiters are in line already", k_take, &set_max_waiters},
    {"supersede", "--supersede", "none|waiting|holder",
     "the newest run wins: end those that wait, or also hold, and said so, too", k_run,
     &set_supersede},
    {"ttl", "--ttl", "DUR",
     "the lease (default 30s, at least 1s)", "run acquire renew doctor",
     &set_ttl, "30s"},
    {"kill-after", "-k,--kill-after", "DUR",
     "from TERM to KILL (default a third of ttl, at most 10s)", k_run,
     &set_duration<&S::kill_after>},
    {"signal", "--signal", "SIG",
     "the first signal when CMD must stop (default TERM)", k_run, &set_signal, "TERM"},
    {"on-lost", "--on-lost", "stop|warn",
     "what happens to CMD when the lease cannot be renewed (default stop)", k_run,
     &set_on_lost, "stop"},
    {"on-unavailable", "--on-unavailable", "fail|skip|run",
     "what happens when the store is away: run starts CMD without the lock (default fail)", k_run,
     &set_on_unavailable, "fail"},
    {"contain", "--contain", "",
     "hold the lock until every descendant of CMD has ended", k_run, &set_contain},
    {"splay", "--splay", "DUR",
     "begin after a random time of at most DUR, so that many hosts do not begin at once", k_run,
     &set_duration<&S::splay>},
    {"min-hold", "--min-hold", "DUR",
     "keep the lock for at least DUR, even if CMD ends sooner", k_run,
     &set_duration<&S::min_hold>},
    {"max-hold", "--max-hold", "DUR",
     "stop CMD after DUR; exit status 124", k_run, &set_max_hold},
    {"no-renew", "--no-renew", "",
     "stop CMD before the first lease ends; exit status 124", k_run, &set_no_renew},
    {"once-per", "--once-per", "DUR",
     "skip CMD if a run that succeeded began less than DUR ago", k_run,
     &set_duration<&S::once_per>},
    {"keep-last", "--keep-last", "DUR",
     "how long inspect shows how the run ended (default 1d; etcd, ZooKeeper 0)", "run release",
     &set_duration<&S::keep_last>},
    {"reason", "--reason", "TEXT",
     "shown to waiters and by inspect (default: the CI job's URL)", "run acquire freeze",
     &set_text<&S::reason>},
    {"result-file", "--result-file", "FILE",
     "write the outcome of the run to FILE, as JSON", k_run, &set_result_file},
    {"metrics-dir", "--metrics-dir", "DIR",
     "count the run in a file of DIR, for node_exporter", k_run, &set_metrics_dir},
    {"notify", "--notify", "COMMAND",
     "run COMMAND with the shell at certain events, told on its stdin", k_run,
     &set_text<&S::notify>},
    {"notify-on", "--notify-on", "LIST",
     "the events of --notify, separated by commas", k_run, &set_notify_on,
     "busy,done,lost,time_up,failed,unavailable,unlocked"},
});
// clang-format on

}  // namespace

std::span<const Setting> all_settings() {
  return k_settings;
}

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : all_settings()) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

bool is_option_of(const Setting& setting, std::string_view command) {
  return !setting.flags.empty() && has_piece(setting.commands, ' ', command);
}

std::string environment_name(const Setting& setting) {
  std::string name = "DLOCK_";
  for (const char c : setting.name) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace dlock
