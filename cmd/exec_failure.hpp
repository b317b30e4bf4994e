// SPDX-License-Identifier: MIT
// Returns the sentence for a command that exec(2) refused, with advice if the words look as if a
// second lock or a line for the shell was meant.
#pragma once

#include <string>
#include <vector>

namespace dlock {

// `error`: the errno of exec(2). `words`: the command's words, at least one.
std::string exec_failure(int error, const std::vector<std::string>& words);

}  // namespace dlock
