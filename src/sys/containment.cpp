// SPDX-License-Identifier: MIT
#include "sys/containment.hpp"

#include "sys/process_table.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace dlock {

namespace {

std::optional<std::string_view> after(std::string_view line, std::string_view start) {
  if (line.substr(0, start.size()) != start) return {};
  return line.substr(start.size());
}

// The lines of a file, one after the other.
std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

std::string_view word(std::string_view line, int index) {
  for (; index > 0; --index)
    line.remove_prefix(std::min(line.size(), line.find(' ')) + (line.find(' ') != line.npos));
  return line.substr(0, line.find(' '));
}

// Where the tree of cgroup v2 is mounted (proc(5), mountinfo), with our place in it.
std::string our_cgroup() {
  const std::string mounts = read_process_file("self/mountinfo").value_or("");
  const std::string places = read_process_file("self/cgroup").value_or("");
  std::string mount;
  for (std::string_view rest = mounts; !rest.empty();) {
    const std::string_view line = next_line(rest);
    if (line.find(" - cgroup2 ") != std::string_view::npos) mount = word(line, 4);
  }
  for (std::string_view rest = places; !mount.empty() && !rest.empty();) {
    if (const auto place = after(next_line(rest), "0::")) return mount + std::string(*place);
  }
  return "";
}

}  // namespace

Containment Containment::make(bool wanted) {
  Containment containment;
  const std::string parent = wanted ? our_cgroup() : "";
  if (parent.empty()) return containment;
  containment.path_ = parent + "/dlock-" + std::to_string(::getpid());
  ::rmdir(containment.path_.c_str());  // what a killed one left that had our number
  if (::mkdir(containment.path_.c_str(), 0755) != 0) return Containment();
  const auto open = [&](const char* file) {
    return UniqueFd(::open((containment.path_ + file).c_str(), O_WRONLY | O_CLOEXEC));
  };
  containment.entry_ = open("/cgroup.procs");
  containment.kill_ = open("/cgroup.kill");
  if (!containment.entry_ || !containment.kill_) {
    containment.remove();
    containment = Containment();
  }
  return containment;
}

void Containment::kill_all() const {
  if (has_cgroup()) [[maybe_unused]]
    const auto n = ::write(kill_.get(), "1", 1);
}

void Containment::remove() {
  if (!path_.empty()) ::rmdir(path_.c_str());
  path_.clear();
}

}  // namespace dlock
