// SPDX-License-Identifier: MIT
// The login of MySQL 8 (caching_sha2_password), as a plug-in for libmariadb. The library's own
// plug-in for it is a shared file, which a static program cannot load. The password itself is sent
// only over TLS or a unix socket, or encrypted with the server's RSA key. Without TLS nothing
// proves that the key is the server's: an attacker who can change the traffic can send a key of his
// own and so learn the password. MySQL's own clients have the same weakness with
// --get-server-public-key.
#pragma once

namespace dlock {

// Returns the plug-in, a st_mysql_client_plugin, for mysql_client_register_plugin().
void* sha2_login_plugin();

}  // namespace dlock
