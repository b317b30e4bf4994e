// SPDX-License-Identifier: MIT
// The name of a file that belongs to a lock, made from the lock's name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

// Returns the name of the lock's file, without an ending such as ".json". Bytes other than letters,
// digits and those in `keep` are percent-encoded; `keep` has no '~'. The result has at most 200
// bytes: of a long name it has the beginning, '~' and a hash.
std::string file_stem(std::string_view name, std::string_view keep);

// Returns the name of a lock from file_stem(). nullopt: it was cut.
std::optional<std::string> name_from_stem(std::string_view stem);

}  // namespace dlock
