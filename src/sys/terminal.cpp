// SPDX-License-Identifier: MIT
#include "sys/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

namespace dlock {

std::size_t terminal_columns(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::optional<Terminal> Terminal::on(UniqueFd own) {
  Terminal terminal;
  terminal.own_ = std::move(own);
  // tcgetattr() fails if this is no terminal, so isatty(3) is not needed.
  if (::tcgetattr(terminal.fd(), &terminal.modes_) != 0) return {};
  if (::tcgetpgrp(terminal.fd()) < 0) return {};  // this terminal is not that of our session
  terminal.stdout_too_ = ::isatty(STDOUT_FILENO) == 1;
  return terminal;
}

std::optional<Terminal> Terminal::of_stdin() {
  return on(UniqueFd());
}

std::optional<Terminal> Terminal::of_session() {
  UniqueFd tty(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!tty) return {};
  return on(std::move(tty));
}

bool Terminal::is_ours() const {
  return ::tcgetpgrp(fd()) == ::getpgrp();
}

void Terminal::give(pid_t group) {
  given_ = ::tcsetpgrp(fd(), group) == 0;
}

void Terminal::take_back(bool repair) {
  if (!given_) return;
  given_ = false;
  ::tcsetpgrp(fd(), ::getpgrp());
  if (repair) ::tcsetattr(fd(), TCSADRAIN, &modes_);
}

}  // namespace dlock
