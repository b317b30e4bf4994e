#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the house stays in order: floors, foreign libraries, banned calls, lengths, headers. Each
# rule is a function over a source tree, so that a sample that breaks it shows that it can fail.
bats_require_minimum_version 1.5.0
load support/source_tree

setup() {
  bats_load_library bats-support
  bats_load_library bats-assert
  PROJECT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
  BAD=$BATS_TEST_TMPDIR/bad
}

# --- floors ------------------------------------------------------------------------------------

# allowed FLOOR: what it may include, as an extended regular expression.
allowed() {
  case $1 in
    src/base) echo '"base/' ;;
    src/core) echo '"(base|core)/' ;;
    src/sys) echo '"(base|sys)/' ;;
    src/store) echo '"(base|core|sys|store)/|"scripts\.gen\.hpp"' ;;
    src/app) echo '"(base|core|sys|app)/|"store/store_worker\.hpp"' ;;
    cmd) echo '"(base|core|sys|app|cmd)/|"store/(open_store|abandoned_holds)\.hpp"|"version\.hpp"' ;;
  esac
}
rule_floors() {
  local floor file
  for floor in src/base src/core src/sys src/store src/app cmd; do
    for file in $(sources "$1" "$floor"); do
      includes "$1/$file" | grep '^"' | grep -vE "^($(allowed "$floor"))" | sed "s,^,$file: ," || true
    done
  done
}
@test "a floor includes only the floors below it" {
  holds rule_floors
  bad src/core/a.hpp '#include "sys/child.hpp"'
  fails rule_floors
  bad src/sys/a.hpp '#include "core/names.hpp"'
  fails rule_floors
  bad src/app/a.cpp '#include "store/open_store.hpp"'
  fails rule_floors
  bad src/base/a.cpp '#include "cmd/voice.hpp"'
  fails rule_floors
}

# who_includes TREE HEADER-REGEX ALLOWED-REGEX
who_includes() {
  local file
  for file in $(sources "$1" src cmd); do
    includes "$1/$file" | grep -qE "$2" || continue
    [[ $file =~ ^($3)$ ]] || echo "$file: $2"
  done
}
rule_libraries() {
  who_includes "$1" '^["<]hiredis' 'src/store/redis/.*'
  who_includes "$1" '^["<]sqlite3' 'src/store/sqlite/sqlite_database\.cpp'
  who_includes "$1" '^["<]libpq' 'src/store/postgres/pg_(connect|session)\.cpp'
  who_includes "$1" '^["<](mysql|mariadb|ma_pvio|errmsg)' 'src/store/mysql/(library|my_session|my_wire)\..pp'
  who_includes "$1" '^["<]http_parser' 'src/store/http/http_reader\.cpp'
  who_includes "$1" '^["<]CLI/' 'cmd/cli\.cpp'
  who_includes "$1" '^["<](spdlog|fmt)/' 'src/base/log\.cpp'
  who_includes "$1" '^["<]openssl/' 'src/sys/tls_(certificate|context|crypto|session)\.cpp'
  who_includes "$1" '^["<]ares' 'src/sys/name_lookup\.cpp'
  who_includes "$1" '^["<]nlohmann/' 'src/base/log\.cpp|src/store/record_json\.cpp|src/store/etcd/etcd_(answers|requests)\.cpp|cmd/json_output\.cpp'
  who_includes "$1" '^["<]toml' 'cmd/toml\.cpp'
  who_includes "$1" '^["<]doctest' 'none'
}
@test "each foreign library is included in its own places only" {
  holds rule_libraries
  local header
  for header in hiredis/hiredis.h sqlite3.h libpq-fe.h mysql.h http_parser.h CLI/CLI.hpp spdlog/spdlog.h ares.h nlohmann/json.hpp toml.hpp \
    doctest/doctest.h; do
    bad src/store/a.cpp "#include <$header>"
    fails rule_libraries
  done
}

rule_seam() {
  local file
  for file in $(sources "$1" src); do
    [[ $file =~ ^src/store/(redis/|open_store\.) ]] && continue
    includes "$1/$file" | grep -i redis | sed "s,^,$file: ," || true
    code "$1/$file" | grep -v '#include' | grep -E '[Rr]edis' | sed "s,^,$file:," || true
  done
  for file in $(sources "$1" cmd); do
    includes "$1/$file" | grep -i redis | sed "s,^,$file: ," || true
    code "$1/$file" | grep -v '#include' | grep -E '[Rr]edis' | sed "s,^,$file:," || true
  done
}
@test "only store/redis and open_store know Redis; cmd names it in texts" {
  holds rule_seam
  bad src/core/a.cpp 'RedisClient client;'
  fails rule_seam
  bad cmd/a.cpp '#include "store/redis/redis_store.hpp"'
  fails rule_seam
  bad cmd/a.cpp 'help("where in Redis");  // Redis'
  run -0 rule_seam "$BAD"
  assert_output ""
}

# --- calls -------------------------------------------------------------------------------------

rule_calls() {
  local file
  local banned='system_clock|steady_clock|high_resolution_clock|sleep_for|this_thread::sleep_until|[^_[:alnum:]](time|gettimeofday|getaddrinfo|gethostbyname|system|popen|sprintf|vsprintf|strcpy|strcat|gets|atoi|atol|atof|strtok|rand|srand|sleep|alarm|tmpnam|mktemp|(localtime|gmtime|ctime)(_r)?)\('
  for file in $(sources "$1" src cmd); do
    code "$1/$file" | grep -E "$banned" | sed "s,^,$file:," || true
    [[ $file == cmd/* ]] || code "$1/$file" | grep -E '[^_[:alnum:]](getenv|setenv|putenv|unsetenv)\(' | sed "s,^,$file:," || true
  done
}
# Wall clock: where a time is written down for people, or a fencing token is made of it.
known_calls() { rule_calls "$1" | grep -vE '^(src/base/(log|wall_clock)|src/sys/tls_certificate|cmd/acquire)\.[ch]pp:[0-9]+:.*system_clock' || true; }
@test "calls that have no place here" {
  holds known_calls
  local call
  for call in 'std::this_thread::sleep_for(1s);' 'auto t = std::chrono::steady_clock::now();' \
    'auto t = std::chrono::system_clock::now();' 'long t = ::time(nullptr);' 'std::system("x");' \
    'sprintf(b, "x");' 'strcpy(a, b);' 'int i = atoi(s);' 'auto e = std::getenv("X");' \
    'getaddrinfo(h, p, &a, &b);' ' popen("x", "r");' ' gettimeofday(&t, 0);' '::gmtime_r(&t, &parts);'; do
    bad src/sys/a.cpp " $call"
    fails known_calls
  done
  bad cmd/a.cpp ' std::getenv("X"); snprintf(b, n, "x"); BootClock::time_point t; // time(x)'
  run -0 known_calls "$BAD"
  assert_output ""
}

rule_marks() {
  local file
  for file in $(sources "$1" src cmd tests) $(cd "$1" && find src cmd tests -name '*.lua' 2>/dev/null); do
    grep -nE 'TODO\(now\)|FIXME' "$1/$file" | sed "s,^,$file:," || true
  done
}
@test "nothing is marked as to be done now" {
  holds rule_marks
  bad src/a.cpp '// FIXME: later'
  fails rule_marks
  bad cmd/a.cpp '// TODO(now) x'
  fails rule_marks
}

# --- files -------------------------------------------------------------------------------------

rule_lengths() {
  local file most
  for file in $(sources "$1" src cmd tests) $(files "$1" '*.lua' '*.bats' '*.bash' '*.py' '*.mutants'); do
    most=400
    [[ $file != *.lua ]] || most=100
    [ "$(wc -l <"$1/$file")" -le $most ] || echo "$file: more than $most lines"
    [[ $file != *.[chl][pu][pa] ]] || LC_ALL=C.UTF-8 grep -nE '^.{101}' "$1/$file" | sed "s,^,$file:," || true
  done
}
@test "files have at most 400 lines, scripts 100, C++ and Lua of at most 100 columns" {
  local file
  holds rule_lengths
  for file in src/a.cpp src/a.lua; do
    bad $file "$(printf 'x%.0s' $(seq 101))"
    fails rule_lengths
  done
  for file in src/a.cpp tests/a/b.bats tests/a.py tests/support/a.bash tests/mutants/a.mutants; do
    bad $file "$(seq 401)"
    fails rule_lengths
    bad $file "$(seq 400)"
    run -0 rule_lengths "$BAD"
    assert_output ""
  done
  bad src/store/redis/scripts/parts/a.lua "$(seq 101)"
  fails rule_lengths
  bad src/a.cpp "// $(printf '…%.0s' $(seq 97))"
  run -0 rule_lengths "$BAD"
  assert_output ""
}

# The names of keys and channels that C++ and scripts both know stand in one file for each language.
rule_names() {
  local file
  for file in $(sources "$1" src cmd) $(files "$1" '*.lua'); do
    [[ $file != src/store/redis/redis_keys.hpp && $file != src/store/redis/scripts/parts/names.lua ]] || continue
    sed -E -e 's,//.*|--.*,,' "$1/$file" | grep -nE '["'"'"'](dlock:[a-z]+:|redisson_|:rwlock_)' | sed "s,^,$file:," || true
    [[ $file != *.lua ]] || grep -nE "'(TIME|TYPE)'" "$1/$file" | grep -vE "may\('(TIME|TYPE)'" |
      sed "s,^,$file:," | grep -vE 'parts/(time|types).lua:' || true
  done
}
@test "names of keys and channels, the server's time and the type of a key are in one place each" {
  holds rule_names
  bad src/store/redis/a.cpp 'auto key = "dlock:holds:" + tag;'
  fails rule_names
  bad src/store/redis/scripts/a.lua "redis.call('PUBLISH', 'redisson_rwlock:' .. tag, '1')"
  fails rule_names
  bad src/store/redis/scripts/a.lua "local time = redis.call('TIME')"
  fails rule_names
  bad src/store/redis/scripts/a.lua "if redis.call('TYPE', key)['ok'] == 'hash' then return end"
  fails rule_names
}

rule_spdx() {
  local file
  for file in $(sources "$1" src cmd tests) \
    $(files "$1" '*.bats' '*.bash' CMakeLists.txt '*.cmake'); do
    head -2 "$1/$file" | grep -q 'SPDX-License-Identifier: MIT' || echo "$file"
  done
}
@test "every source says its licence first" {
  holds rule_spdx
  bad src/a.cpp 'int i;'
  fails rule_spdx
}

rule_listed() {
  local file folder
  for file in $(sources "$1" src cmd tests | grep '\.cpp$'); do
    folder=$file
    while folder=$(dirname "$folder") && [ ! -e "$1/$folder/CMakeLists.txt" ]; do
      [ "$folder" != . ] || break
    done
    # Programs of the bats suites are compiled by them.
    [[ $file != tests/support/programs/* ]] || continue
    grep -qE "(^|[ (])${file#"$folder"/}([ )]|\$)" "$1/$folder/CMakeLists.txt" 2>/dev/null || echo "$file"
  done
}
@test "every source is in the list of its CMakeLists.txt" {
  holds rule_listed
  bad src/base/a.cpp ''
  printf 'add_library(x aa.cpp)\n' >"$BAD/src/base/CMakeLists.txt"
  fails rule_listed
  printf 'add_library(x\n  a.cpp)\n' >"$BAD/src/base/CMakeLists.txt"
  run -0 rule_listed "$BAD"
  assert_output ""
}

rule_stores() {
  local folder name
  for folder in "$1"/src/store/*/; do
    name=$(basename "$folder")
    [[ $name == table || $name == sql ]] && continue  # what several stores have in common
    [ -n "$(find "$folder" -maxdepth 1 -name '*_store.hpp')" ] || continue
    grep -A9 'CHECK(names ==' "$1/tests/contract/every_store_test.cpp" | grep -q "\"$name\"" ||
      echo "$folder: not in the contract suite"
  done
}
@test "every store is in the list of the contract suite" {
  holds rule_stores
  bad tests/contract/every_store_test.cpp 'CHECK(names == std::vector<std::string>{"local"});'
  mkdir -p "$BAD/src/store/local" "$BAD/src/store/redis"
  touch "$BAD"/src/store/{local/local,redis/redis}_store.hpp
  fails rule_stores
  rm "$BAD/src/store/redis/redis_store.hpp"
  run -0 rule_stores "$BAD"
  assert_output ""
}

# included_first TREE HEADER: by the source of its name, and so compiled alone by every build that
# takes each file for itself.
included_first() {
  local source=$1/${2%.hpp}.cpp
  [ -e "$source" ] && [ "$(includes "$source" | head -n 1)" = "\"${2#src/}\"" ]
}
rule_headers() {
  local file
  for file in $(sources "$1" src cmd | grep '\.hpp$'); do
    [ "$(grep -c '^#pragma once$' "$1/$file")" = 1 ] || echo "$file: no pragma once"
    ! included_first "$1" "$file" || continue
    printf '#include "%s"\n#include "%s"\n' "$1/$file" "$1/$file" |
      "${CXX:-g++}" -std=c++20 -fsyntax-only -I"$1/src" -I"$1" -x c++ - >/dev/null 2>&1 ||
      echo "$file: does not compile alone"
  done
}
@test "every header compiles alone and twice" {
  holds rule_headers
  bad src/a.hpp '#pragma once' 'std::string text;'
  fails rule_headers
  bad src/a.hpp 'struct A {};'
  fails rule_headers
}

# Behind the licence, 3 to 12 lines say what a header promises; small ones may do with less.
rule_openings() {
  local file lines
  for file in $(sources "$1" src cmd | grep '\.hpp$'); do
    lines=$(sed -n '2,/^[^/]/p' "$1/$file" | grep -c '^//' || true)
    [ "$lines" -ge 1 ] && [ "$lines" -le 20 ] || echo "$file: opens with $lines lines"
  done
}
@test "every header opens with what it promises" {
  holds rule_openings
  bad src/a.hpp '// SPDX-License-Identifier: MIT' '#pragma once'
  fails rule_openings
}

rule_scripts() {
  local file
  for file in "$1"/src/store/redis/scripts/*.lua; do
    head -1 "$file" | grep -qE "^-- $(basename "$file" .lua): " || echo "$file: no first line"
    grep -qE '^-- KEYS  (1 |for each name: )' "$file" || echo "$file: no KEYS"
    if grep -q 'ARGV\[' "$file"; then grep -q '^-- ARGV  1 ' "$file" || echo "$file: no ARGV"; fi
    grep -q '^-- Returns ' "$file" || echo "$file: no Returns"
  done
}
@test "every script's header names KEYS, ARGV and what it returns" {
  holds rule_scripts
  bad src/store/redis/scripts/a.lua '-- a: does it' '--' '-- KEYS  1 lock' 'return ARGV[1]'
  fails rule_scripts
}

# --- words -------------------------------------------------------------------------------------

# strings FILE: the string literals of C++, comments left out.
strings() {
  sed -E 's,^(([^"/]|"([^"\\]|\\.)*"|/[^/"])*)//.*,\1,' "$1" | grep -oE '"([^"\\]|\\.)*"' || true
}
# What users read: a text in it may be broken over two lines, so lines are joined.
user_texts() { # TREE FILE
  case $2 in
    *.[ch]pp) strings "$1/$2" ;;
    CHANGELOG.md) sed -n '/^## \[Unreleased\]/,/^## \[[0-9]/p' "$1/$2" ;;
    *) cat "$1/$2" ;;
  esac | tr -s '\n" ' ' '
}
rule_words() {
  local file words='whoever|whomever|nobody|somebody|everybody|anybody|(given|gives?|giving|gave) (it |them |the lock |the hold )?back|told of|is told|are told|looked after|who (has|holds) it'
  for file in $(sources "$1" src cmd) \
    $(cd "$1" && find README.md CHANGELOG.md man completions packaging/examples packaging/release/built.py -type f 2>/dev/null | sort); do
    user_texts "$1" "$file" | grep -oiE "(.{0,40}[^[:alpha:]]|^)($words)([^[:alpha:]].{0,20}|\$)" |
      sed "s,^,$file: ," || true
  done
}
@test "texts for users name the holder, the waiter and the release, not whoever gives back" {
  holds rule_words
  local word
  for word in 'whoever waits' 'nobody holds it' 'somebody else' 'given back' 'gives the lock back' \
    'is told of it' 'was looked after' 'who has it'; do
    bad cmd/a.cpp "say(\"the lock: $word\");"
    fails rule_words
    bad man/a.1 ".B dlock" "$word"
    fails rule_words
  done
  bad README.md 'The lock is given' 'back.'
  fails rule_words
  bad src/a.cpp 'int i; // "nobody" reads a comment' "text(\"the lock was released\"); // given back"
  run -0 rule_words "$BAD"
  assert_output ""
}

# Comments are plain sentences: no genitive without a noun before it, no "none" in place of a noun.
rule_comments() {
  local file
  for file in $(sources "$1" src cmd); do
    grep -nE '// (Of|The same) |//.*\b(is none|none of them)\b' "$1/$file" | sed "s,^,$file:," || true
  done
}
@test "comments do not begin with a genitive, and name what they mean" {
  holds rule_comments
  local comment
  for comment in '// Of the lock that is free: its keys.' '// The same of the next one.' \
    'int a;  // Of one name.' '// A name that is none.' '// Of what comes: none of them counts.'; do
    bad src/a.hpp "$comment"
    fails rule_comments
  done
  bad cmd/a.cpp '// Offers the lock. None is left of the Same kind.' 'say("the file is none of ours");'
  run -0 rule_comments "$BAD"
  assert_output ""
}

# long_subjects: of stdin, a subject a line, those that have more than 72 characters.
long_subjects() { LC_ALL=C.UTF-8 grep -E '^.{73}' || true; }
@test "the subjects of commits have at most 72 characters" {
  local first=f954166efbcb
  run -0 long_subjects < <(printf '…%.0s' {1..72})
  assert_output ""
  run -0 long_subjects < <(printf '…%.0s' {1..73})
  refute_output ""
  git -C "$PROJECT" cat-file -e "$first^{commit}" 2>/dev/null || skip "commit $first is not here"
  run -0 long_subjects < <(git -C "$PROJECT" log --format=%s "$first..HEAD")
  assert_output ""
}
