// SPDX-License-Identifier: MIT
// Includes the headers of libmariadb, and declares what Debian's libmariadb-dev lacks: its
// client_plugin.h includes a header that is not installed. The declarations follow the ABI of
// MariaDB Connector/C 3.
#pragma once

#include <mariadb/mysql.h>
// errmsg.h can only be included after mysql.h.
#include <mariadb/errmsg.h>
#include <mariadb/ma_pvio.h>
#include <mariadb/mysql/plugin_auth.h>

namespace dlock {

constexpr int k_login_plugin = 2;
constexpr int k_pvio_plugin = 101;
constexpr unsigned int k_plugin_version = 0x0100;

struct LoginPlugin {
  MYSQL_CLIENT_PLUGIN_HEADER
  int (*authenticate_user)(MYSQL_PLUGIN_VIO* vio, MYSQL* mysql);
};
struct PvioPlugin {
  MYSQL_CLIENT_PLUGIN_HEADER
  PVIO_METHODS* methods;
};

}  // namespace dlock
