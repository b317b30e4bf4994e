// SPDX-License-Identifier: MIT
#include "cmd/config_file.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "cmd/url_password.hpp"
#include "sys/file_bytes.hpp"
#include "sys/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

namespace dlock {

namespace {

constexpr std::size_t k_most_bytes = 64U << 10U;

struct File {
  std::string text;
  struct stat status {};
};

Error bad(const std::string& path, const std::string& why) {
  return {Errc::bad_config, printable(path) + ": " + why};
}

Result<File> read_all(const std::string& path, int flags = 0) {
  // Opened and looked at once: what was checked is what is read.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags));
  if (!fd) return bad(path, "cannot open: " + errno_text(errno));
  File file;
  if (::fstat(fd.get(), &file.status) != 0) return bad(path, errno_text(errno));
  if (S_ISDIR(file.status.st_mode)) return bad(path, "is a directory");
  const int failed = read_bytes(fd.get(), k_most_bytes, file.text);
  if (failed != 0) return bad(path, "cannot read: " + errno_text(failed));
  if (file.text.size() > k_most_bytes) return bad(path, "is larger than 64 KiB");
  return file;
}

Result<void> check_writers(const std::string& path, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return {};  // a pipe from our caller
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return bad(path, "is owned by neither root nor you: not read");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return bad(path, "can be written by others: not read; chmod go-w it");
  }
  return {};
}

Result<void> check_readers(const std::string& path, const struct stat& status) {
  if (!S_ISREG(status.st_mode) || (status.st_mode & (S_IRGRP | S_IROTH)) == 0) return {};
  return bad(path, "holds a password and can be read by others: not read; chmod 600 it");
}

bool has_password(const ConfigEntries& entries) {
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.first == "password" ||
           (entry.first == "url" && !password_in_url(entry.second).empty());
  });
}

Result<std::string> password_in(const std::string& path, const File& file) {
  auto safe = check_writers(path, file.status);
  if (safe) safe = check_readers(path, file.status);
  if (!safe) return safe.error();
  std::string password = file.text.substr(0, file.text.find_first_of("\r\n"));
  if (password.empty()) return bad(path, "the first line, which must be the password, is empty");
  return password;
}

// Not what can be read once, nor a descriptor, whose number may be another file's by then.
bool may_read_again(const std::string& path, const File& file) {
  return S_ISREG(file.status.st_mode) && !path.starts_with("/dev/") && !path.starts_with("/proc/");
}

}  // namespace

Result<ConfigEntries> read_config_file(const std::string& path, bool must_exist) {
  if (!must_exist && ::access(path.c_str(), F_OK) != 0) return ConfigEntries{};
  auto file = read_all(path);
  if (!file) return file.error();
  auto safe = check_writers(path, file->status);
  if (!safe) return safe.error();
  auto entries = parse_toml(path, file->text);
  if (!entries) return entries.error();
  if (has_password(*entries)) {
    safe = check_readers(path, file->status);
    if (!safe) return safe.error();
  }
  return entries;
}

Result<Secret> read_password_file(const std::string& path) {
  auto file = read_all(path);
  if (!file) return file.error();
  auto password = password_in(path, *file);
  if (!password) return password.error();
  if (!may_read_again(path, *file)) return Secret(std::move(*password));
  return Secret(std::move(*password), [path]() -> std::optional<std::string> {
    const auto now = read_all(path, O_NONBLOCK);
    if (!now || !may_read_again(path, *now)) return std::nullopt;
    auto newest = password_in(path, *now);
    return newest ? std::optional(std::move(*newest)) : std::nullopt;
  });
}

Secret password_of_config(const std::string& path, std::string_view value) {
  return {std::string(value), [path]() -> std::optional<std::string> {
            const auto entries = read_config_file(path, true);
            std::optional<std::string> newest;
            for (std::size_t i = 0; entries && i < entries->size(); ++i)
              if ((*entries)[i].first == "password") newest = (*entries)[i].second;
            return newest;
          }};
}

}  // namespace dlock
