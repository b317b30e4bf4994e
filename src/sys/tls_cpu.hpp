// SPDX-License-Identifier: MIT
// Delays OpenSSL's look at the processor's features until the first TLS connection. OpenSSL looks
// before main() begins (OPENSSL_cpuid_setup, called from .init). In a virtual machine that costs
// every run some 80 us, even without TLS. A static program is linked with --wrap, which replaces
// that function by an empty one.
#pragma once

namespace dlock {

// Lets OpenSSL look now. Must be called before the library is first used. A second call does
// nothing.
void set_up_cpu_for_tls();

}  // namespace dlock
