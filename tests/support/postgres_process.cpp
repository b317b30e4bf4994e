// SPDX-License-Identifier: MIT
#include "support/postgres_process.hpp"

#include "store/postgres/pg_session.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "support/fake_peer.hpp"

namespace dlock::test {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

namespace {

// The account that the server runs as. If we are not root, it is our own.
struct Account {
  uid_t user = ::getuid();
  gid_t group = ::getgid();
};

Result<Account> account() {
  if (::getuid() != 0) return Account{};
  const passwd* const entry = ::getpwnam("postgres");
  if (entry == nullptr) return Error{Errc::system, "there is no user postgres"};
  return Account{entry->pw_uid, entry->pw_gid};
}

// Returns the folder of the newest version that is installed; Debian does not put it into PATH.
std::string folder_of_programs() {
  std::string newest;
  std::error_code ignored;
  for (const auto& one : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored))
    newest = std::max(newest, one.path().string() + "/bin/");
  return newest;
}

// Starts a program. Between fork and exec only async-signal-safe calls are allowed.
pid_t spawn(const Words& words, const Account& as, const std::string& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): execvp does not write to the words.
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const std::string log = folder + "/log";
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if (::getuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setgid(as.group) != 0 || ::setuid(as.user) != 0)) {
    ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent || ::chdir(folder.c_str()) != 0) ::_exit(127);
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace

Result<std::unique_ptr<PostgresProcess>> PostgresProcess::create() {
  std::unique_ptr<PostgresProcess> server(new PostgresProcess());
  {
    const FakePeer free_port;  // no process listens there from here on
    server->port_ = free_port.port();
  }
  if (auto done = server->initialize(); !done) return done.error();
  if (auto done = server->start(); !done) return done.error();
  auto address = parse_pg_url(server->socket_url());
  if (!address) return address.error();
  PgSession session(std::move(*address), {}, nullptr);
  const auto made = session.run({{"create role ann login password 's3cret'"},
                                 {"create role tls login password 's3cret'"},
                                 {"grant create on schema public to ann"}},
                                BootClock::now() + 10s);
  if (!made) return made.error();
  return server;
}

Result<void> PostgresProcess::initialize() {
  const auto as = account();
  if (!as) return as.error();
  const std::string& folder = directory();
  if (::chown(folder.c_str(), as->user, as->group) != 0 || ::chmod(folder.c_str(), 0755) != 0)
    return Error{Errc::system, "cannot give the folder to postgres"};
  const Words first{folder_of_programs() + "initdb",
                    "--pgdata",
                    folder + "/data",
                    "--auth=trust",
                    "--username=postgres",
                    "--no-sync",
                    "--no-locale",
                    "--encoding=UTF8"};
  const Words second{"openssl",
                     "req",
                     "-x509",
                     "-newkey",
                     "ec",
                     "-pkeyopt",
                     "ec_paramgen_curve:P-256",
                     "-nodes",
                     "-keyout",
                     folder + "/server.key",
                     "-out",
                     ca_file(),
                     "-days",
                     "2",
                     "-subj",
                     "/CN=localhost",
                     "-addext",
                     "subjectAltName=DNS:localhost"};
  for (const Words& words : {first, second}) {
    const pid_t pid = spawn(words, *as, folder);
    int status = 0;
    if (pid < 0 || ::waitpid(pid, &status, 0) != pid || status != 0)
      return Error{Errc::system, "cannot run " + words[0] + ": " + log()};
  }
  write(folder + "/data/pg_hba.conf",
        "local all postgres trust\n"
        "hostssl all tls 127.0.0.1/32 scram-sha-256\n"
        "host all ann 127.0.0.1/32 scram-sha-256\n");
  write(folder + "/data/postgresql.conf",
        "listen_addresses = '127.0.0.1'\n"
        "port = " +
            std::to_string(port_) +
            "\n"
            "unix_socket_directories = '" +
            folder +
            "'\n"
            "ssl = on\n"
            "ssl_cert_file = '" +
            ca_file() +
            "'\n"
            "ssl_key_file = '" +
            folder +
            "/server.key'\n"
            "fsync = off\n"
            "full_page_writes = off\n"
            "synchronous_commit = off\n"
            "max_connections = 20\n"
            "shared_buffers = 8MB\n"
            "autovacuum = off\n"
            "deadlock_timeout = 100ms\n");
  return {};
}

Result<void> PostgresProcess::start() {
  const auto as = account();
  if (!as) return as.error();
  pid_ = spawn({folder_of_programs() + "postgres", "-D", directory() + "/data"}, *as, directory());
  if (pid_ < 0) return Error{Errc::system, "no new process"};
  auto address = parse_pg_url(socket_url());
  if (!address) return address.error();
  PgSession session(std::move(*address), {}, nullptr);
  const Time limit = BootClock::now() + 20s;
  while (BootClock::now() < limit) {
    if (session.run({{"select 1"}}, limit)) return {};
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return Error{Errc::unavailable, "postgres ended at once: " + log()};
    }
    ::poll(nullptr, 0, 20);
  }
  return Error{Errc::unavailable, "no answer within 20s: " + log()};
}

PostgresProcess::~PostgresProcess() {
  kill();
}

void PostgresProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGQUIT);  // an immediate shutdown; the server waits for the end of its processes
  for (int i = 0; i < 500; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return;
    }
    ::poll(nullptr, 0, 10);
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string PostgresProcess::socket_url() const {
  return "postgresql://postgres@/postgres?host=" + directory() + "&port=" + std::to_string(port_);
}

std::string PostgresProcess::url(const std::string& user, const std::string& host) const {
  return "postgresql://" + user + "@" + host + ":" + std::to_string(port_) + "/postgres";
}

std::string PostgresProcess::log() const {
  std::ostringstream text;
  text << std::ifstream(directory() + "/log").rdbuf();
  return text.str();
}

}  // namespace dlock::test
