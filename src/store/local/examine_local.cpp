// SPDX-License-Identifier: MIT
#include "store/local/examine_local.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "store/local/file_system.hpp"
#include "store/local/local_store.hpp"
#include "store/local/sharing.hpp"
#include "store/trial.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

namespace dlock {

namespace {

std::string path_of(const std::string& url) {
  const auto begin = url.find("://") + 3;
  return percent_decode(url.substr(begin, url.find('?') - begin));
}

// The files of the trial, which a release leaves for the next holder; and a directory that opening
// the store has made.
void tidy_up(const std::string& path, const LockName& name, bool was_there) {
  for (const char* const suffix : {".lock", ".json"}) {
    ::unlink((path + '/' + local::file_stem(name.text()) + suffix).c_str());
  }
  if (!was_there) ::rmdir(path.c_str());
}

}  // namespace

Finding judge_directory(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return not_seen("stat: " + errno_text(errno));
  const std::string seen = printable(path) + " has " + local::rights_of(status);
  const std::string remedy =
      "keep the locks in a directory of a group: " + std::string(local::k_shared_place) +
      " of the packages, or one by "
      "install -d -m 2770 -g GROUP DIRECTORY";
  if ((status.st_mode & S_IWOTH) != 0) {
    return warning(seen,
                   "every user can make files there, and the first user of a lock keeps out the "
                   "others (77)",
                   remedy);
  }
  if (local::is_shared(status)) {
    return good(seen + "; the members of group " + std::to_string(status.st_gid) +
                " share the locks");
  }
  if ((status.st_mode & S_IWGRP) != 0) {
    return warning(seen,
                   "without the setgid bit a lock is for the group of its first user",
                   "chmod g+s " + printable(path));
  }
  return info(seen, "that user and root can take locks there");
}

Finding judge_file_system(const std::string& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) return not_seen("statfs: " + errno_text(errno));
  const auto kind = local::shared_file_system(static_cast<std::uint32_t>(status.f_type));
  if (kind.empty()) return good("no file system that two machines share");
  return warning(std::string(kind) + ", and the URL says ?shared=no",
                 "if another machine uses it too, both can hold one lock",
                 "keep the locks on a disk or tmpfs of this machine");
}

Result<Examination> examine_local(const StoreOptions& options, const ExamineTerms& terms) {
  const std::string path = path_of(options.url);
  const bool was_there = ::access(path.c_str(), F_OK) == 0 || errno != ENOENT;
  auto store = LocalStore::open(options.url, options.interrupt);
  auto rival = LocalStore::open(options.url, options.interrupt);
  if (!store || !rival) return store ? rival.error() : store.error();
  Examination all{.url = (*store)->where()};
  const auto add = [&](const char* id, Finding finding) {
    finding.id = id;
    finding.server = all.url;
    all.findings.push_back(std::move(finding));
  };
  add("directory", judge_directory(path));
  add("filesystem", judge_file_system(path));
  const LockName name = trial_name(terms.name);
  const Undisturbed undisturbed;
  add("trial", judge_trial(try_lock(**store, **rival, name, terms.until)));
  all.identity = was_there ? identity_of_file(path)
                           : Identity{.unseen = "the directory is made by the first run"};
  tidy_up(path, name, was_there);
  return all;
}

}  // namespace dlock
