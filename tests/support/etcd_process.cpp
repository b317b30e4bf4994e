// SPDX-License-Identifier: MIT
#include "support/etcd_process.hpp"

#include "store/etcd/etcd_client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "support/fake_peer.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

namespace {

using Words = std::vector<std::string>;

// Runs between fork and exec: only async-signal-safe calls are allowed.
[[noreturn]] void become(char* const* words, const char* log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent ended before prctl
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int file = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(null, STDIN_FILENO);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  ::execvp(words[0], words);
  ::_exit(127);
}

pid_t spawn(Words words, const std::string& log) {
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(pointers.data(), log.c_str(), parent);
  return pid;
}

Result<void> run(const Words& words, const std::string& log) {
  const pid_t pid = spawn(words, log);
  int status = -1;
  if (pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0) return {};
  std::string all;
  for (const std::string& word : words)
    all += " " + word;
  return Error{Errc::unavailable, "failed:" + all};
}

std::string local(std::uint16_t port) {
  return "127.0.0.1:" + std::to_string(port);
}

}  // namespace

Result<std::unique_ptr<EtcdProcess>> EtcdProcess::start(const Options& options) {
  std::unique_ptr<EtcdProcess> server(new EtcdProcess());
  server->options_ = options;
  const std::string log = server->directory_.path() + "/log";
  // All ports are bound at the same time, so that they differ; then they are free again.
  std::vector<std::unique_ptr<DeafPort>> ports;
  for (std::size_t i = 0; i < 2 * options.members; ++i)
    ports.push_back(std::make_unique<DeafPort>());
  for (std::size_t i = 0; i < options.members; ++i)
    server->members_.push_back({.port = ports[2 * i]->port, .peer_port = ports[2 * i + 1]->port});
  ports.clear();
  if (options.tls) {
    const std::string key = server->directory_.path() + "/key.pem";
    auto made = run({"openssl",
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
                     key,
                     "-out",
                     server->certificate()},
                    log);
    if (!made) return made.error();
  }
  for (std::size_t i = 0; i < options.members; ++i)
    server->spawn_member(i);
  for (std::size_t i = 0; i < options.members; ++i)
    if (auto ready = server->await(i); !ready) return ready.error();
  return server;
}

EtcdProcess::~EtcdProcess() {
  for (std::size_t i = 0; i < members_.size(); ++i)
    kill(i);
}

void EtcdProcess::spawn_member(std::size_t member) {
  const Member& self = members_[member];
  const std::string name = "m" + std::to_string(member);
  const std::string clients = scheme() + local(self.port);
  const std::string peers = "http://" + local(self.peer_port);
  std::string cluster;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    cluster += cluster.empty() ? "" : ",";
    cluster += "m" + std::to_string(i) + "=http://" + local(members_[i].peer_port);
  }
  Words words{"etcd",
              "--name=" + name,
              "--data-dir=" + directory_.path() + "/" + name,
              "--listen-client-urls=" + clients,
              "--advertise-client-urls=" + clients,
              "--listen-peer-urls=" + peers,
              "--initial-advertise-peer-urls=" + peers,
              "--initial-cluster=" + cluster,
              "--heartbeat-interval=10",
              "--election-timeout=100",
              "--bcrypt-cost=4",
              "--logger=zap",
              "--log-level=error",
              options_.gateway ? "--enable-grpc-gateway=true" : "--enable-grpc-gateway=false"};
  if (options_.tls) {
    words.push_back("--cert-file=" + certificate());
    words.push_back("--key-file=" + directory_.path() + "/key.pem");
  }
  members_[member].pid = spawn(std::move(words), directory_.path() + "/log");
}

// Waits until the member answers; the answer may be a refusal.
Result<void> EtcdProcess::await(std::size_t member) {
  auto address = parse_etcd_url(url_of(member));
  if (!address) return address.error();
  TlsSettings tls;
  tls.cacert = certificate();
  for (Endpoint& one : address->servers)
    if (one.tls != nullptr) one.tls = std::make_shared<const TlsSettings>(tls);
  EtcdClient client(*address, nullptr);
  const Time limit = BootClock::now() + 30s;
  while (members_[member].pid > 0 && BootClock::now() < limit) {
    const auto answers = client.run({EtcdGet{{"ready"}}}, BootClock::now() + 2s);
    const Errc code = answers ? Errc::denied : answers.error().code;
    if (code == Errc::denied || code == Errc::bad_config) return {};
    if (::waitpid(members_[member].pid, nullptr, WNOHANG) == members_[member].pid)
      members_[member].pid = -1;
    ::poll(nullptr, 0, 10);
  }
  return Error{Errc::unavailable, "cannot start an etcd: it does not answer"};
}

void EtcdProcess::kill(std::size_t member) {
  pid_t& pid = members_[member].pid;
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  pid = -1;
}

Result<void> EtcdProcess::restart(std::size_t member) {
  spawn_member(member);
  return await(member);
}

void EtcdProcess::freeze(std::size_t member) {
  const pid_t pid = members_[member].pid;
  ::kill(pid, SIGSTOP);
  ::waitpid(pid, nullptr, WUNTRACED);  // returns when all its threads have stopped
}

void EtcdProcess::thaw(std::size_t member) {
  ::kill(members_[member].pid, SIGCONT);
}

std::string EtcdProcess::url(const std::string& user) const {
  std::string all;
  for (const Member& one : members_)
    all += (all.empty() ? "" : ",") + local(one.port);
  return (options_.tls ? "etcds://" : "etcd://") + user + all;
}

std::string EtcdProcess::url_of(std::size_t member, const std::string& user) const {
  return (options_.tls ? "etcds://" : "etcd://") + user + local(members_[member].port);
}

Result<void> EtcdProcess::etcdctl(Words words) const {
  words.insert(
      words.begin(),
      {"env", "ETCDCTL_API=3", "etcdctl", "--endpoints", scheme() + local(members_[0].port)});
  return run(words, directory_.path() + "/etcdctl.log");
}

Result<void> EtcdProcess::demand_login() {
  for (const Words& words :
       std::vector<Words>{{"user", "add", "root:s3cret"},
                          {"user", "grant-role", "root", "root"},
                          {"user", "add", "ann:s3cret"},
                          {"role", "add", "r"},
                          {"role", "grant-permission", "r", "readwrite", "--prefix=true", "ann/"},
                          {"user", "grant-role", "ann", "r"},
                          {"auth", "enable"}})
    if (auto done = etcdctl(words); !done) return done;
  return {};
}

}  // namespace dlock::test
