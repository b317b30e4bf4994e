// SPDX-License-Identifier: MIT
// The login of MySQL 8 (caching_sha2_password) as a plug-in of libmariadb, which has it only as a
// file that a static program cannot load. The password itself is sent only over TLS, a unix socket,
// or by the server's RSA key; without TLS that key is not verified, so one who can change what
// travels on the network can learn the password (MySQL's own clients ask for it then, too, with
// --get-server-public-key).
#pragma once

namespace dlock {

// For mysql_client_register_plugin(): a st_mysql_client_plugin.
void* sha2_login_plugin();

}  // namespace dlock
