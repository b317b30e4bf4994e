// SPDX-License-Identifier: MIT
#include "sys/resolv_conf.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

namespace dlock {
namespace {

using namespace std::chrono_literals;

TEST_CASE("resolv.conf: its servers, timeout: and attempts: are read, and the rest is left out") {
  const std::string text =
      "# nameserver 1.1.1.1\nnameserver 10.0.0.1\nnameserver\t10.0.0.2 \nsearch a.test b.test\n"
      "options ndots:5 timeout:3\tattempts:4 attempts:x timeout:\n";
  const ResolvConf conf = read_resolv_conf(text);
  CHECK(conf.servers == 2);
  CHECK(conf.timeout == 3s);
  CHECK(conf.attempts == 4);
  CHECK(read_resolv_conf("").servers == 1);
  CHECK(read_resolv_conf("options attempts:99 timeout:0").attempts == 5);
  CHECK(read_resolv_conf("options attempts:99 timeout:0").timeout == 1s);
}

TEST_CASE("each name server is asked twice within the search, however many there are") {
  for (const int servers : {1, 2, 3}) {
    ResolvConf conf;
    conf.servers = servers;
    const auto each = patience(2500ms, conf);
    CHECK(each * (servers + 2 * servers) <= 2500ms);
    CHECK(each * (servers + 2 * servers) > 2400ms);
  }
}

TEST_CASE("what resolv.conf says of time bounds that of a server, and no server has none") {
  ResolvConf conf;
  conf.attempts = 1;
  CHECK(patience(2500ms, conf) == 2500ms);
  conf.timeout = 1s;
  CHECK(patience(2500ms, conf) == 1s);
  CHECK(patience(-1s, conf) == 1ms);
}

}  // namespace
}  // namespace dlock
