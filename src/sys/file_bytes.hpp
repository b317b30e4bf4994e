// SPDX-License-Identifier: MIT
// Reads and writes bytes of an open file; the caller checks and names the file. A call that a
// signal interrupts (EINTR) is repeated.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

// Appends the file's bytes from its position on to `text`, until `text` has a little more than
// `most` bytes. Returns 0, or the errno of read(2).
int read_bytes(int fd, std::size_t most, std::string& text);

// Writes all of `bytes`. Returns 0, or the errno of write(2): then some of the bytes may have been
// written.
int write_bytes(int fd, std::string_view bytes);

}  // namespace dlock
