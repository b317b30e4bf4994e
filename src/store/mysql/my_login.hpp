// SPDX-License-Identifier: MIT
// The login of MySQL 8 (caching_sha2_password) as a plug-in for libmariadb. The library has its own
// only as a file, which a static program cannot load. The password itself is sent only over TLS or
// a unix socket, or encrypted with the server's RSA key. Without TLS that key is not verified: an
// attacker who can change the traffic can then learn the password (as with MySQL's own clients and
// --get-server-public-key).
#pragma once

namespace dlock {

// Returns the plug-in for mysql_client_register_plugin(), a st_mysql_client_plugin.
void* sha2_login_plugin();

}  // namespace dlock
