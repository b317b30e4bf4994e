// SPDX-License-Identifier: MIT
#include "support/redis_process.hpp"

#include "base/boot_clock.hpp"
#include "sys/unique_fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string_view>

#include "support/installed.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

namespace {

// Runs between fork and exec: only async-signal-safe calls are allowed.
[[noreturn]] void become_server(const char* const* words, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent ended before prctl
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): execvp does not write to the words.
  ::execvp(words[0], const_cast<char* const*>(words));
  ::_exit(127);
}

}  // namespace

Result<std::unique_ptr<RedisProcess>> RedisProcess::start() {
  if (const std::string text = missing(k_redis); !text.empty())
    return Error{Errc::unavailable, text};
  std::unique_ptr<RedisProcess> server(new RedisProcess());
  const std::string socket = server->socket();
  const std::string& directory = server->directory_.path();
  const std::array<const char*, 16> words{"redis-server",
                                          "--port",
                                          "0",
                                          "--unixsocket",
                                          socket.c_str(),
                                          "--save",
                                          "",
                                          "--appendonly",
                                          "no",
                                          "--daemonize",
                                          "no",
                                          "--dir",
                                          directory.c_str(),
                                          "--loglevel",
                                          "warning",
                                          nullptr};
  const pid_t parent = ::getpid();
  server->pid_ = ::fork();
  if (server->pid_ == 0) become_server(words.data(), parent);
  if (server->pid_ < 0) return Error{Errc::system, "cannot start redis-server: no new process"};
  const Time limit = BootClock::now() + 10s;
  while (BootClock::now() < limit) {
    if (server->answers()) return server;
    if (::waitpid(server->pid_, nullptr, WNOHANG) == server->pid_) {
      server->pid_ = -1;
      return Error{Errc::unavailable, "cannot start redis-server: it ended at once"};
    }
    ::poll(nullptr, 0, 5);
  }
  return Error{Errc::unavailable, "cannot start redis-server: no answer within 10s"};
}

RedisProcess::~RedisProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool RedisProcess::answers() const {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket();
  DLOCK_ASSERT(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how connect(2) is called.
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return false;
  }
  constexpr std::string_view k_ping = "PING\r\n";
  if (::write(fd.get(), k_ping.data(), k_ping.size()) < 0) return false;
  pollfd wait{.fd = fd.get(), .events = POLLIN, .revents = 0};
  std::array<char, 16> reply{};
  if (::poll(&wait, 1, 1000) <= 0) return false;
  const ssize_t n = ::read(fd.get(), reply.data(), reply.size());
  return n > 0 && std::string_view(reply.data(), static_cast<std::size_t>(n)).starts_with("+PONG");
}

}  // namespace dlock::test
