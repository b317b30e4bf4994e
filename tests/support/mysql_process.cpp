// SPDX-License-Identifier: MIT
#include "support/mysql_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <vector>

#include "support/fake_peer.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

namespace {

using Words = std::vector<std::string>;

// Runs between fork and exec: only async-signal-safe calls are allowed.
[[noreturn]] void become(char* const* words, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent ended before prctl
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::dup2(null, fd);
  ::execvp(words[0], words);
  ::_exit(127);
}

pid_t spawn(Words words) {
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(pointers.data(), parent);
  return pid;
}

Result<void> run(const Words& words) {
  const pid_t pid = spawn(words);
  int status = -1;
  if (pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0) return {};
  return Error{Errc::unavailable, "cannot start a MariaDB: " + words[0] + " failed"};
}

std::string as_user() {
  return ::geteuid() == 0 ? "--user=root" : "--skip-name-resolve";
}

constexpr const char* k_accounts =
    "FLUSH PRIVILEGES;\n"  // before this, the server has no accounts
    "CREATE DATABASE locks;\n"
    "CREATE USER ann@localhost IDENTIFIED BY 's3cret', ann@'127.0.0.1' IDENTIFIED BY 's3cret';\n"
    "GRANT ALL ON locks.* TO ann@localhost, ann@'127.0.0.1';\n";

}  // namespace

Result<std::unique_ptr<MysqlProcess>> MysqlProcess::start() {
  std::unique_ptr<MysqlProcess> server(new MysqlProcess());
  // The port was free a moment ago.
  server->port_ = DeafPort().port;
  if (auto made = server->make_data(); !made) return made.error();
  if (auto started = server->restart(); !started) return started.error();
  return server;
}

Result<void> MysqlProcess::make_data() {
  const std::string& folder = directory_.path();
  std::ofstream(folder + "/accounts.sql") << k_accounts;
  if (auto made = run({"openssl",
                       "req",
                       "-x509",
                       "-newkey",
                       "ec",
                       "-pkeyopt",
                       "ec_paramgen_curve:P-256",
                       "-nodes",
                       "-days",
                       "1",
                       "-subj",
                       "/CN=dlock",
                       "-addext",
                       "subjectAltName=IP:127.0.0.1",
                       "-keyout",
                       folder + "/key.pem",
                       "-out",
                       certificate()});
      !made) {
    return made;
  }
  return run({"mariadb-install-db",
              "--no-defaults",
              "--datadir=" + folder + "/data",
              "--tmpdir=" + folder,  // a starting server removes files from a shared tmpdir
              as_user(),
              "--auth-root-authentication-method=normal",
              "--skip-test-db",
              "--extra-file=" + folder + "/accounts.sql"});
}

Result<void> MysqlProcess::restart() {
  const std::string& folder = directory_.path();
  pid_ = spawn({"mariadbd",
                "--no-defaults",
                as_user(),
                "--datadir=" + folder + "/data",
                "--tmpdir=" + folder,
                "--socket=" + socket(),
                "--port=" + std::to_string(port_),
                "--bind-address=127.0.0.1",
                "--pid-file=" + folder + "/pid",
                "--skip-log-bin",
                "--skip-name-resolve",
                "--innodb-buffer-pool-size=8M",
                "--innodb-lock-wait-timeout=1",
                "--ssl-cert=" + certificate(),
                "--ssl-key=" + folder + "/key.pem"});
  const Time limit = BootClock::now() + 30s;
  while (pid_ > 0 && BootClock::now() < limit) {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket().copy(address.sun_path, sizeof address.sun_path - 1);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how connect(2) is called.
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return {};
    }
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    ::poll(nullptr, 0, 20);
  }
  return Error{Errc::unavailable, "cannot start a MariaDB: it does not listen"};
}

void MysqlProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string MysqlProcess::url(const std::string& user) const {
  return "mysql://" + user + "/locks?socket=" + socket();
}

std::string MysqlProcess::tcp_url(const std::string& user) const {
  return "mysql://" + user + "127.0.0.1:" + std::to_string(port_) + "/locks";
}

}  // namespace dlock::test
