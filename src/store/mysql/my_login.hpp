// SPDX-License-Identifier: MIT
// The login of MySQL 8 (caching_sha2_password) as a plug-in of libmariadb, which has it only as a
// file that a static program cannot load. The password itself is sent only over TLS, a unix socket,
// or sealed with the server's RSA key; without TLS that key is not verified, so a client on the
// network that can change traffic can learn the password (as with MySQL's own clients and
// --get-server-public-key).
#pragma once

namespace dlock {

// For mysql_client_register_plugin(): a st_mysql_client_plugin.
void* sha2_login_plugin();

}  // namespace dlock
