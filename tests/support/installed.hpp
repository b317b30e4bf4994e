// SPDX-License-Identifier: MIT
// Which of the servers that tests start this machine has. A test program names each missing one
// once, in place of the failures of all tests that need it.
#pragma once

#include <string>

namespace dlock::test {

// The program of a server, the Debian package that has it, and what people call it.
struct Installable {
  const char* name;
  const char* program;  // a name that PATH finds, or a pattern of glob(3) that begins with '/'
  const char* package;
};

inline constexpr Installable k_redis{"Redis", "redis-server", "redis-server"};
inline constexpr Installable k_mariadb{"MariaDB", "mariadbd", "mariadb-server"};
inline constexpr Installable k_postgres{
    "PostgreSQL", "/usr/lib/postgresql/*/bin/initdb", "postgresql"};
inline constexpr Installable k_etcd{"etcd", "etcd", "etcd-server"};
inline constexpr Installable k_zookeeper{
    "ZooKeeper", "/usr/share/java/zookeeper.jar", "libzookeeper-java"};
inline constexpr Installable k_java{"java", "java", "default-jre-headless"};

// Adds the folders of system programs to PATH; an ordinary user often lacks them.
void find_system_programs();

// Returns "no etcd installed (package etcd-server)", or "" if it is installed.
std::string missing(const Installable& one);

}  // namespace dlock::test
