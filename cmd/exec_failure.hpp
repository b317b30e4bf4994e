// SPDX-License-Identifier: MIT
// The sentence for a command that exec(2) refused, with advice if the words look as if something
// else was meant: a second lock, or a line for the shell.
#pragma once

#include <string>
#include <vector>

namespace dlock {

// `error` is the errno of exec(2); `words` are the command's, at least one.
std::string exec_failure(int error, const std::vector<std::string>& words);

}  // namespace dlock
