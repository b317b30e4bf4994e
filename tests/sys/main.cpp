// SPDX-License-Identifier: MIT
// A test whose server is not installed does not run: one test names all such servers.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <array>

#include "support/installed.hpp"

namespace dlock::test {

namespace {

// A server, and the files with tests that start it.
struct Use {
  Installable server;
  const char* files;
};

constexpr const char* k_with_zookeeper =
    "*/sys/zk_servers_test.cpp,*/sys/zk_session_test.cpp,*/sys/zk_tls_test.cpp";

constexpr std::array k_uses{Use{k_redis, "*/sys/redis_client_test.cpp,*/sys/redis_store_test.cpp"},
                            Use{k_mariadb, "*/sys/my_alive_test.cpp,*/sys/my_session_test.cpp"},
                            Use{k_postgres, "*/sys/pg_*"},
                            Use{k_etcd, "*/sys/etcd_client_test.cpp,*/sys/etcd_watch_test.cpp"},
                            Use{k_zookeeper, k_with_zookeeper},
                            Use{k_java, k_with_zookeeper}};

}  // namespace

TEST_CASE("the servers that tests start are installed") {
  for (const Use& use : k_uses) {
    const std::string text = missing(use.server);
    CHECK_MESSAGE(text.empty(), text);
  }
}

}  // namespace dlock::test

int main(int argc, char** argv) {
  dlock::test::find_system_programs();
  doctest::Context context(argc, argv);
  for (const auto& use : dlock::test::k_uses)
    if (!missing(use.server).empty()) context.addFilter("source-file-exclude", use.files);
  return context.run();
}
