// SPDX-License-Identifier: MIT
#include "sys/tls_cpu.hpp"

#if DLOCK_WRAPS_CPUID

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): names of ld's --wrap
extern "C" {
void __real_OPENSSL_cpuid_setup();
void __wrap_OPENSSL_cpuid_setup();
// This function is placed beside other code that runs at the start, so that no further page of
// memory has to be read.
[[gnu::section(".text.startup")]] void __wrap_OPENSSL_cpuid_setup() {}
}

namespace dlock {
void set_up_cpu_for_tls() {
  __real_OPENSSL_cpuid_setup();
}
}  // namespace dlock
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

#else

namespace dlock {
void set_up_cpu_for_tls() {}
}  // namespace dlock

#endif
