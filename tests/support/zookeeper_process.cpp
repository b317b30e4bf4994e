// SPDX-License-Identifier: MIT
#include "support/zookeeper_process.hpp"

#include "sys/transport.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

namespace {

// Starts a program. Between fork and exec only async-signal-safe calls are allowed.
pid_t spawn_in(const std::string& folder, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = folder + "/log";
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent || ::chdir(folder.c_str()) != 0) ::_exit(127);
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

std::string with_folder(std::string settings, const std::string& folder) {
  const std::string word = "$DIR";
  for (auto at = settings.find(word); at != std::string::npos; at = settings.find(word))
    settings.replace(at, word.size(), folder);
  return settings;
}

}  // namespace

Result<std::unique_ptr<ZookeeperProcess>> ZookeeperProcess::create(const std::string& settings) {
  std::unique_ptr<ZookeeperProcess> server(new ZookeeperProcess());
  server->port_ = DeafPort().port;
  server->configure(server->port_, settings);
  if (auto started = server->start(); !started) return started.error();
  return server;
}

// If a setting occurs twice, the last one counts.
void ZookeeperProcess::configure(std::uint16_t port, const std::string& settings) const {
  std::filesystem::create_directory(directory() + "/data");
  std::ofstream(directory() + "/zoo.cfg")
      << "tickTime=100\ninitLimit=50\nsyncLimit=20\n"
         "admin.enableServer=false\n4lw.commands.whitelist=srvr\n"
      << "dataDir=" << directory() << "/data\n"
      << "clientPortAddress=127.0.0.1\nclientPort=" << port << "\n"
      << with_folder(settings, directory()) << "\n";
}

Result<void> ZookeeperProcess::start() {
  if (auto spawned = spawn(); !spawned) return spawned;
  return await_service();
}

Result<void> ZookeeperProcess::spawn() {
  const std::string jars = "/usr/share/java/";
  std::string path = jars + "zookeeper.jar";
  for (const char* const jar : {"slf4j-simple", "netty-codec", "netty-resolver"})
    path += ":" + jars + jar + ".jar";
  pid_ = spawn_in(directory(),
                  {"java",
                   "-Xmx64m",
                   "-XX:+UseSerialGC",
                   "-XX:TieredStopAtLevel=1",
                   "-XX:-UsePerfData",
                   "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                   "-Dzookeeper.forceSync=no",
                   "-Dzookeeper.preAllocSize=64",
                   "-cp",
                   path,
                   "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                   directory() + "/zoo.cfg"});
  if (pid_ < 0) return Error{Errc::system, "no new process"};
  return {};
}

Result<void> ZookeeperProcess::await_service() {
  for (const Time limit = BootClock::now() + 30s; BootClock::now() < limit;) {
    if (!mode().empty()) return {};
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return Error{Errc::unavailable, "a ZooKeeper ended at once: " + log()};
    }
    ::poll(nullptr, 0, 20);
  }
  return Error{Errc::unavailable, "a ZooKeeper does not serve within 30s: " + log()};
}

ZookeeperProcess::~ZookeeperProcess() {
  kill();
}

void ZookeeperProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void ZookeeperProcess::freeze() const {
  ::kill(pid_, SIGSTOP);
  // SIGSTOP is taken by one thread first; this waits until all threads have stopped.
  ::waitpid(pid_, nullptr, WUNTRACED);
}

void ZookeeperProcess::thaw() const {
  ::kill(pid_, SIGCONT);
}

std::string ZookeeperProcess::mode() const {
  const Time limit = BootClock::now() + 500ms;
  auto transport = Transport::connect({.host = "127.0.0.1", .port = port_}, limit, nullptr);
  if (!transport || !transport->send("srvr", limit)) return {};
  std::string all;
  std::array<char, 4096> buffer{};
  while (const auto n = transport->receive(buffer.data(), buffer.size(), limit))
    all.append(buffer.data(), *n);
  const std::string word = "Mode: ";
  const auto at = all.find(word);
  if (at == std::string::npos) return {};
  const auto from = at + word.size();
  return all.substr(from, all.find('\n', from) - from);
}

std::string ZookeeperProcess::log() const {
  std::ostringstream text;
  text << std::ifstream(directory() + "/log").rdbuf();
  return text.str();
}

Result<std::unique_ptr<ZookeeperEnsemble>> ZookeeperEnsemble::create(const std::string& settings) {
  auto all = std::make_unique<ZookeeperEnsemble>();
  std::string members = settings + "\n";
  {
    // All ports are bound at the same time, so that they differ.
    std::array<std::array<DeafPort, 3>, k_servers> ports;
    for (std::size_t i = 0; i < k_servers; ++i) {
      all->servers_.at(i).reset(new ZookeeperProcess());
      all->at(i).port_ = ports.at(i)[0].port;
      members += "server." + std::to_string(i + 1) +
                 "=127.0.0.1:" + std::to_string(ports.at(i)[1].port) + ":" +
                 std::to_string(ports.at(i)[2].port) + "\n";
    }
  }
  for (std::size_t i = 0; i < k_servers; ++i) {
    ZookeeperProcess& one = all->at(i);
    one.configure(one.port(), members);
    std::ofstream(one.directory() + "/data/myid") << i + 1 << "\n";
    if (auto spawned = one.spawn(); !spawned) return spawned.error();
  }
  for (const auto& one : all->servers_)
    if (auto serves = one->await_service(); !serves) return serves.error();
  return all;
}

Result<std::size_t> ZookeeperEnsemble::leader() const {
  for (const Time limit = ample(); BootClock::now() < limit; ::poll(nullptr, 0, 20)) {
    for (std::size_t i = 0; i < k_servers; ++i)
      if (servers_.at(i)->mode() == "leader") return i;
  }
  return Error{Errc::unavailable, "the ensemble has no leader"};
}

std::string ZookeeperEnsemble::url(std::size_t first) const {
  std::string hosts;
  for (std::size_t i = 0; i < k_servers; ++i)
    hosts += (i == 0 ? "" : ",") + servers_.at((first + i) % k_servers)->host();
  return "zookeeper://" + hosts;
}

}  // namespace dlock::test
