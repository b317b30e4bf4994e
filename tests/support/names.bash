# SPDX-License-Identifier: MIT
# Sourced where tests are found by their names: suite.bash and tests/faults/table.bash.
# shellcheck shell=bash

# every_test DIR: prints each test of every suite below DIR as a line "FILE|NAME". In C++ a name may
# consist of several strings on several lines.
every_test() {
  grep -rHPzo --include='*.bats' --include='*.cpp' \
    '(?m)^(@test |TEST_CASE\(\s*)("([^"\\]|\\.)*"\s*)+' "$1" | tr '\n' ' ' | tr '\0' '\n' |
    sed -E 's/:(@test |TEST_CASE\( *)"/|/; s/" *$//; s/" +"//g; s/\\(.)/\1/g' | sort
}
