// SPDX-License-Identifier: MIT
// OpenSSL asks the processor for its features before main() begins (OPENSSL_cpuid_setup, called
// from .init): some 80 us in a virtual machine, for every run, whether it uses TLS or not. A static
// program is linked with --wrap, so that this happens when the first TLS connection is made.
#pragma once

namespace dlock {

// Called before the library is first used. A second call does nothing.
void set_up_cpu_for_tls();

}  // namespace dlock
