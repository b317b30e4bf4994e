// SPDX-License-Identifier: MIT
// pidfd_open(2) and pidfd_send_signal(2): glibc 2.36 declares them without extern "C".
#pragma once

extern "C" {
#include <sys/pidfd.h>
}
