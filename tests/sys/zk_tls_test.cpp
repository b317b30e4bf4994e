// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_session.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "support/has.hpp"
#include "support/zk_sessions.hpp"

namespace dlock {
namespace {

using test::ample;
using test::answered;
using test::done;
using test::failed;
using test::has;

// A ZooKeeper with a port for TLS, and its certificate for 127.0.0.1.
struct TlsZookeeper {
  TlsZookeeper() {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN=dlock -addext subjectAltName=IP:127.0.0.1 2>/dev/null -keyout " +
        folder.path() + "/key -out " + ca() + " && cat " + folder.path() + "/key " + ca() + " >" +
        folder.path() + "/both";
    REQUIRE(std::system(command.c_str()) == 0);
    auto started = test::ZookeeperProcess::create(
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"
        "secureClientPortAddress=127.0.0.1\nssl.clientAuth=none\n"
        "ssl.keyStore.type=PEM\nssl.trustStore.type=PEM\nssl.keyStore.location=" +
        folder.path() + "/both\nssl.trustStore.location=" + ca() +
        "\nsecureClientPort=" + std::to_string(port));
    CAPTURE((started ? "" : started.error().text));
    REQUIRE(started.has_value());
    server = std::move(*started);
  }
  std::string ca() const { return folder.path() + "/ca"; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port); }

  test::TempDir folder;
  std::uint16_t port = test::DeafPort().port;
  std::unique_ptr<test::ZookeeperProcess> server;
};

ZkSession session_of(const std::string& url, const TlsSettings& tls = {}) {
  auto address = parse_zk_url(url, tls);
  REQUIRE(address.has_value());
  return {std::move(*address), std::chrono::seconds(2), nullptr};
}

TEST_CASE("zk: TLS, with a certificate that is verified") {
  const TlsZookeeper zookeeper;
  const std::string secure = "zookeepers://" + zookeeper.host();
  const ZkRequest create{.op = ZkOp::create, .path = "/x", .node = ZkNode::ephemeral};
  TlsSettings trusting;
  trusting.cacert = zookeeper.ca();
  ZkSession one = session_of(secure, trusting);
  // The port without TLS serves a little earlier.
  CHECK(answered(one, create).code == ZkCode::ok);
  CHECK(done(one.reattach({{.op = ZkOp::exists, .path = "/x", .watch = true}}, ample()))[0].code ==
        ZkCode::ok);
  ZkSession plain = session_of(zookeeper.server->url());
  done(plain, {.op = ZkOp::remove, .path = "/x"});
  const auto event = one.await_event(ample());
  CHECK((event && *event));

  ZkSession distrusting = session_of(secure);
  const Error stranger = failed(distrusting, {create}, ample());
  CHECK(stranger.code == Errc::protocol);
  CHECK(has(stranger.text, "cannot reach " + secure + "/: "));
  ZkSession without = session_of("zookeeper://" + zookeeper.host());
  const Error open = failed(without, {create}, ample());
  CAPTURE(open.text);
  CHECK(has(open.text, "or it expects TLS?"));
  ZkSession too_much = session_of("zookeepers://" + zookeeper.server->host(), trusting);
  const Error none = failed(too_much, {create}, ample());
  CAPTURE(none.text);
  CHECK(has(none.text, "or no TLS?"));
}

}  // namespace
}  // namespace dlock
