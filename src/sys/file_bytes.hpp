// SPDX-License-Identifier: MIT
// All the bytes of an open file, for those who check and name it themselves. EINTR is repeated.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

// Appends to `text` from where the file is read next to its end, or a little more than `most` bytes
// of it. 0, or the errno of read(2).
int read_bytes(int fd, std::size_t most, std::string& text);

// 0, or the errno of write(2); then some of it may have been written.
int write_bytes(int fd, std::string_view bytes);

}  // namespace dlock
