// SPDX-License-Identifier: MIT
#include "cmd/exec_failure.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"

#include <cerrno>

namespace dlock {

std::string exec_failure(int error, const std::vector<std::string>& words) {
  const std::string& word = words.front();
  const bool unknown = error == ENOENT && word.find('/') == std::string::npos;  // PATH was searched
  std::string text = "cannot execute " + in_quotes(word) + ": " +
                     (unknown ? std::string("command not found") : errno_text(error));
  if (error != ENOENT) return text;
  // In earlier versions `dlock run account-7 account-9 -- CMD` acquired two locks; some users may
  // still write it.
  if (words.size() > 1 && words[1] == "--")
    return text + "; for a second lock write --and " + printable(shortened(word, 80));
  if (words.size() == 1 && word.find_first_of(" \t\n|&;<>()$`\"'*?") != std::string::npos)
    return text + "; to have a shell run a line, write: dlock run -c STRING NAME";
  return text;
}

}  // namespace dlock
