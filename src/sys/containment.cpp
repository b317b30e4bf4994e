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

// Removes and returns the first line of the text.
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

// Returns where cgroup v2 is mounted (proc(5), mountinfo); empty: nowhere.
std::string tree() {
  const std::string mounts = read_process_file("self/mountinfo").value_or("");
  std::string mount;
  for (std::string_view rest = mounts; !rest.empty();) {
    const std::string_view line = next_line(rest);
    if (line.find(" - cgroup2 ") != std::string_view::npos) mount = word(line, 4);
  }
  return mount;
}

// Returns the cgroup path of a process, without a slash at its end.
std::optional<std::string> place_of(const std::string& process) {
  const std::string places = read_process_file(process + "/cgroup").value_or("");
  for (std::string_view rest = places; !rest.empty();) {
    if (const auto place = after(next_line(rest), "0::"))
      return std::string(*place == "/" ? "" : *place);
  }
  return {};
}

}  // namespace

Containment Containment::make(bool wanted) {
  Containment containment;
  const std::string mount = wanted ? tree() : "";
  const auto ours = mount.empty() ? std::nullopt : place_of("self");
  if (!ours) return containment;
  containment.place_ = *ours + "/dlock-" + std::to_string(::getpid());
  containment.path_ = mount + containment.place_;
  ::rmdir(containment.path_.c_str());  // left behind by a killed dlock that had our pid
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

bool Containment::has(pid_t pid) const {
  if (!has_cgroup()) return false;
  const auto below = after(place_of(std::to_string(pid)).value_or(""), place_);
  return below && (below->empty() || below->front() == '/');
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
