// SPDX-License-Identifier: MIT
// Functions of Kerberos and LDAP that libpq.a calls. The static program needs them here, because
// their libraries exist only as shared ones. Each returns an error, so dlock cannot log in with
// Kerberos; libpq uses LDAP only with a service file. The functions ignore what libpq passes.

// NOLINTBEGIN(readability-identifier-naming): the names of those libraries
namespace {
constexpr unsigned k_gss_failure = 13U << 16;  // GSS_S_FAILURE
constexpr int k_ldap_failure = -1;             // LDAP_SERVER_DOWN
}  // namespace

#define DLOCK_STUB(type, name, failure) \
  type name() {                         \
    return failure;                     \
  }

extern "C" {
extern const void* const GSS_C_NT_HOSTBASED_SERVICE;
const void* const GSS_C_NT_HOSTBASED_SERVICE = nullptr;

DLOCK_STUB(unsigned, gss_acquire_cred, k_gss_failure)
DLOCK_STUB(unsigned, gss_delete_sec_context, k_gss_failure)
DLOCK_STUB(unsigned, gss_display_status, k_gss_failure)
DLOCK_STUB(unsigned, gss_import_name, k_gss_failure)
DLOCK_STUB(unsigned, gss_init_sec_context, k_gss_failure)
DLOCK_STUB(unsigned, gss_release_buffer, k_gss_failure)
DLOCK_STUB(unsigned, gss_release_cred, k_gss_failure)
DLOCK_STUB(unsigned, gss_release_name, k_gss_failure)
DLOCK_STUB(unsigned, gss_unwrap, k_gss_failure)
DLOCK_STUB(unsigned, gss_wrap, k_gss_failure)
DLOCK_STUB(unsigned, gss_wrap_size_limit, k_gss_failure)

DLOCK_STUB(const char*, ldap_err2string, "LDAP is not built in")
DLOCK_STUB(int, ldap_count_entries, k_ldap_failure)
DLOCK_STUB(int, ldap_msgfree, k_ldap_failure)
DLOCK_STUB(int, ldap_result, k_ldap_failure)
DLOCK_STUB(int, ldap_search_st, k_ldap_failure)
DLOCK_STUB(int, ldap_set_option, k_ldap_failure)
DLOCK_STUB(int, ldap_simple_bind, k_ldap_failure)
DLOCK_STUB(int, ldap_unbind, k_ldap_failure)
DLOCK_STUB(void*, ldap_first_entry, nullptr)
DLOCK_STUB(void*, ldap_get_values_len, nullptr)
DLOCK_STUB(void*, ldap_init, nullptr)
DLOCK_STUB(void, ldap_value_free_len, )
}
// NOLINTEND(readability-identifier-naming)
