// SPDX-License-Identifier: MIT
// OpenSSL asks the processor for its features before main() begins (OPENSSL_cpuid_setup, called
// from .init). In a virtual machine that costs every run some 80 us, even without TLS. A static
// program is linked with --wrap, which delays it until the first TLS connection.
#pragma once

namespace dlock {

// Must be called before the library is first used. A second call does nothing.
void set_up_cpu_for_tls();

}  // namespace dlock
