// SPDX-License-Identifier: MIT
// Replaces a file as a whole: a reader sees the old text or the new one, never a part. The new text
// is written to a temporary file in the same directory, which then gets the name (rename(2)). A
// link or another file of that name is not written to.
#pragma once

#include <string>
#include <string_view>

namespace dlock {

struct WholeFile {
  int directory;  // a descriptor of the directory, at least O_PATH
  const std::string& name;
  bool for_all = false;  // everybody may read the file, whatever the umask is; else 0644 less umask
  bool to_disk = false;  // the text is on the disk before the file gets its name
};

// Returns 0 or an errno. After an error the old file is as it was, and no temporary file is left.
int replace_file(const WholeFile& file, std::string_view text);

// Makes a file of another name in the directory, and removes it. Returns 0 or an errno.
int try_new_file(int directory);

}  // namespace dlock
