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
  local floor
  for floor in src/base src/core src/sys src/store src/app cmd; do
    includes "$1" "$floor" | grep ': "' | grep -vE ": ($(allowed "$floor"))" || true
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

# libraries: how what is included of each begins, and the only files that may include it.
libraries() {
  cat <<'TABLE'
hiredis                          src/store/redis/.*
sqlite3                          src/store/sqlite/sqlite_database\.cpp
libpq                            src/store/postgres/pg_(connect|session)\.cpp
(mysql|mariadb|ma_pvio|errmsg)   src/store/mysql/(library|my_session|my_wire)\..pp
http_parser                      src/store/http/http_reader\.cpp
CLI/                             cmd/cli\.cpp
(spdlog|fmt)/                    src/base/log\.cpp
openssl/                         src/sys/tls_(certificate|context|crypto|session)\.cpp
ares                             src/sys/name_lookup\.cpp
nlohmann/                        src/base/log\.cpp|src/store/json_object\.hpp|src/store/etcd/etcd_(answers|requests)\.cpp|cmd/json_output\.cpp
toml                             cmd/toml\.cpp
doctest                          none
TABLE
}
rule_libraries() {
  local library places foreign file included begin='^["<]'
  foreign=$(includes "$1" src cmd | grep -E ": [\"<]($(libraries | sed 's/ .*//' | paste -sd '|'))" || true)
  while read -r library places; do
    while IFS=' ' read -r file included; do
      [[ ! $included =~ $begin$library || ${file%:} =~ ^($places)$ ]] || echo "$file $begin$library"
    done <<<"$foreign" | uniq
  done < <(libraries)
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
  {
    includes "$1" src cmd | grep -i ': .*redis' || true
    code "$1" src cmd | grep -v '#include' | in_text '[Rr]edis'
  } | grep -vE '^src/store/(redis/|open_store\.)' || true
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
  local banned='system_clock|steady_clock|high_resolution_clock|sleep_for|this_thread::sleep_until|[^_[:alnum:]](time|gettimeofday|getaddrinfo|gethostbyname|system|popen|sprintf|vsprintf|strcpy|strcat|gets|atoi|atol|atof|strtok|rand|srand|sleep|alarm|tmpnam|mktemp|(localtime|gmtime|ctime)(_r)?)\('
  code "$1" src cmd | in_text "$banned"
  code "$1" src | in_text '[^_[:alnum:]](getenv|setenv|putenv|unsetenv)\('
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
  { sources "$1" src cmd tests && files "$1" '*.lua' | grep -E '^(src|cmd|tests)/'; } | lines "$1" 'TODO\(now\)|FIXME'
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
  local names
  names=$(sources "$1" src cmd tests && files "$1" '*.lua' '*.bats' '*.bash' '*.py' '*.mutants')
  of_files "$1" wc -l <<<"$names" | awk '$2 != "total" { most = $2 ~ /\.lua$/ ? 100 : 400
    if ($1 > most) print $2 ": more than " most " lines" }'
  grep -E '\.[chl][pu][pa]$' <<<"$names" | LC_ALL=C.UTF-8 lines "$1" '^.{101}'
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
  { sources "$1" src cmd && files "$1" '*.lua'; } |
    grep -vxE 'src/store/redis/(redis_keys\.hpp|scripts/parts/names\.lua)' | lines "$1" '' |
    sed -E -e 's,//.*|--.*,,' | in_text '["'"'"'](dlock:[a-z]+:|redisson_|:rwlock_)'
  files "$1" '*.lua' | grep -vE 'parts/(clock|types)\.lua$' | lines "$1" "'(TIME|TYPE)'" |
    grep -vE "may\('(TIME|TYPE)'" || true
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
  local names
  names=$(sources "$1" src cmd tests && files "$1" '*.bats' '*.bash' CMakeLists.txt '*.cmake')
  grep -vxFf <(of_files "$1" grep -Hn -m 1 'SPDX-License-Identifier: MIT' <<<"$names" |
    sed -nE 's/:[12]:.*//p') <<<"$names" || true
}
@test "every source says its licence first" {
  holds rule_spdx
  bad src/a.cpp 'int i;'
  fails rule_spdx
}

# The list is in the CMakeLists.txt of the folder of a source, or of the next folder above that has one.
# The programs of the bats suites are compiled by these.
rule_listed() {
  files "$1" CMakeLists.txt | of_files "$1" grep -H '' |
    awk -F: '
      NR == FNR { # of a CMakeLists.txt
        folder = $1; sub(/[^\/]*$/, "", folder); has[folder] = 1
        text = substr($0, length($1) + 2); gsub(/\(/, "( ", text); gsub(/\)/, " )", text)
        n = split(text, words, /[ ]/)
        for (i = 1; i <= n; ++i) listed[folder words[i]] = 1
        next
      }
      /\.cpp$/ && !/^tests\/support\/programs\// {
        folder = $0
        do sub(/[^\/]*\/?$/, "", folder); while (folder != "" && !(folder in has))
        if (!(folder in has) || !($0 in listed)) print
      }' - <(sources "$1" src cmd tests)
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

rule_headers() {
  sources "$1" src cmd | grep '\.hpp$' | of_files "$1" grep -Hc '^#pragma once$' |
    sed -n '/:1$/!s/:[0-9]*$/: no pragma once/p'
  # shellcheck disable=SC2016  # of the inner shell
  to_compile "$1" src cmd | of_files "$1" -n 1 -P "$(nproc)" sh -c '
    printf "#include \"%s\"\n#include \"%s\"\n" "$0" "$0" |
      "${CXX:-g++}" -std=c++20 -fsyntax-only -Isrc -I. -x c++ - >/dev/null 2>&1 ||
      echo "$0: does not compile alone"'
}
@test "every header compiles alone and twice" {
  holds rule_headers
  bad src/a.hpp '#pragma once' 'std::string text;'
  fails rule_headers
  bad src/a.hpp 'struct A {};'
  fails rule_headers
  bad src/a.hpp '#pragma once' '#include "b.hpp"'
  printf '%s\n' '#pragma once' '#include "a.hpp"' 'std::string text;' >"$BAD/src/b.hpp"
  fails rule_headers # though each is what the other includes first
  bad src/a.hpp '#pragma once' 'std::string text;'
  printf '%s\n' '#include "a.hpp"' >"$BAD/src/a.cpp"
  run -0 rule_headers "$BAD"
  assert_output "" # the build finds it
  sed -i '1i #include <string>' "$BAD/src/a.cpp"
  fails rule_headers
}

# Behind the licence, 3 to 12 lines say what a header promises; small ones may do with less.
rule_openings() {
  sources "$1" src cmd | grep '\.hpp$' | of_files "$1" awk '
    FNR == 1 { open = 1; next }
    open && /^\/\// { ++lines[FILENAME] }
    FNR > 2 && /^[^\/]/ { open = 0 }
    END {
      for (i = 1; i < ARGC; ++i)
        if (lines[ARGV[i]] < 1 || lines[ARGV[i]] > 20) print ARGV[i] ": opens with " lines[ARGV[i]] + 0 " lines"
    }'
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

rule_words() {
  local file text words='whoever|whomever|nobody|somebody|everybody|anybody|(given|gives?|giving|gave) (it |them |the lock |the hold )?back|told of|is told|are told|looked after|who (has|holds) it'
  user_texts "$1" | grep -iE "^[^:]*:.*[^[:alpha:]]($words)([^[:alpha:]]|\$)" |
    while IFS= read -r text; do
      file=${text%%:*}
      grep -oiE "(.{0,40}[^[:alpha:]]|^)($words)([^[:alpha:]].{0,20}|\$)" <<<"${text#*: }" | sed "s,^,$file: ,"
    done || true
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
  sources "$1" src cmd | lines "$1" '// (Of|The same) |//.*\b(is none|none of them)\b'
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
