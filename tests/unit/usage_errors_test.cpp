// SPDX-License-Identifier: MIT
// Command lines that are refused, and the texts of the refusals.
#include "cmd/command_line.hpp"

#include <doctest/doctest.h>

#include "support/has.hpp"
#include "support/parsed.hpp"

namespace dlock {

using test::good;
using test::has;
using test::Words;
using test::wrong;

TEST_CASE("options of run behind the name are refused with both ways to write it, without values") {
  const std::string text = wrong({"run", "n", "-w", "5", "--", "cmd"});
  CHECK(has(text, "the options of run go before the lock name"));
  CHECK(has(text, "dlock run -w … n -- CMD"));
  CHECK(has(text, "dlock run n -- -w …"));
  CHECK(has(wrong({"run", "n", "-c", "a | b"}), "dlock run -c … n, or"));
  wrong({"run", "n", "--json", "cmd"});
  CHECK(has(wrong({"run", "--", "n", "-x"}), "go before the lock name"));
  for (const Words& words : {Words{"run", "n", "--password", "s3cret"},
                             Words{"run", "n", "--password=s3cret"},
                             Words{"run", "n", "-ps3cret"}})
    CHECK_FALSE(has(wrong(words), "s3cret"));
}

TEST_CASE("names and words in a message cannot move a cursor") {
  for (const Words& words : {Words{"run", "n\x1b[2J", "-\n\x1b"}, Words{"run", "n\x1b[2J\n"}}) {
    const std::string text = wrong(words);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
}

TEST_CASE("an option of some commands goes after the command") {
  CHECK(wrong({"--ttl", "5s", "run", "n", "c"}) ==
        "\"--ttl\" is an option of run, acquire, renew and doctor; write it after the "
        "command: dlock run --ttl …");
  CHECK(has(wrong({"-vn", "run", "n", "c"}), "\"-n\" is an option of run, acquire and wait;"));
  CHECK(has(wrong({"--while=7", "renew", "n"}), "is an option of renew; write"));
}

TEST_CASE("an unknown option is named, and the word behind it is neither shown nor a command") {
  for (const Words& words : {Words{"--pass", "s3cret", "run", "x"},
                             Words{"--pass=s3cret", "run", "x"},
                             Words{"run", "--pass", "s3cret", "-n", "x"},
                             Words{"acquire", "x", "--pass=s3cret"}}) {
    const std::string text = wrong(words);
    CHECK(has(text, "there is no option \"--pass\""));
    CHECK_FALSE(has(text, "s3cret"));
  }
  CHECK_FALSE(has(wrong({"-ps3cret", "run", "x"}), "s3cret"));
}

TEST_CASE("options of flock(1) that dlock does not have are explained") {
  CHECK(has(wrong({"run", "-u", "n"}), "dlock release"));
  CHECK(has(wrong({"run", "--unlock", "n"}), "dlock release"));
  CHECK(has(wrong({"run", "-o", "n", "c"}), "is the default"));
  CHECK(has(wrong({"run", "-nF", "n", "c"}), "dlock stays to renew"));
  CHECK(has(wrong({"-e", "run", "n", "c"}), "-x"));
}

TEST_CASE("a missing word is named") {
  CHECK(has(wrong({"run"}), "the lock name is missing"));
  CHECK(has(wrong({"run", "--"}), "the lock name is missing"));
  CHECK(has(wrong({"run", "n"}), "dlock run n -- CMD"));
  CHECK(has(wrong({"run", "n", "--"}), "the command is missing"));
  CHECK(has(wrong({"inspect"}), "the lock name is missing"));
  CHECK(has(wrong({"list", "a", "b"}), "quote it"));
  CHECK(has(wrong({"forget"}), "one lock name"));
  CHECK(has(wrong({"forget", "a", "b"}), "one lock name"));
  CHECK(has(wrong({"force-release"}), "one lock name"));
  CHECK(has(wrong({"force-release", "a", "b"}), "one lock name"));
  for (const char* command : {"acquire", "renew", "release"})
    CHECK(has(wrong({command}), "the lock name is missing; write: dlock " + std::string(command)));
  CHECK(has(wrong({"wait"}), "wait takes one lock name"));
  CHECK(has(wrong({"wait", "a", "b"}), "one lock name"));
  CHECK(has(wrong({"run", "--wait"}), "\"--wait\" needs a value"));
  CHECK(has(wrong({"run", "-nw"}), "\"-w\" needs a value"));
  CHECK(good({}).command.empty());
  CHECK(good({"--", "run"}).command.empty());
}

TEST_CASE("an option that swallowed the name is named, by what is wrong with its value") {
  const std::string text = wrong({"run", "--ttl", "l", "--", "true"});
  CHECK(has(text, "--ttl: "));
  CHECK(has(text, "\"l\""));
  CHECK(has(wrong({"run", "-E", "job"}), "\"job\" is not an exit status"));
  CHECK(good({"run", "--ttl", "l", "--help"}).help);
}

TEST_CASE("contradictory options are refused") {
  CHECK(has(wrong({"run", "-n", "-w", "5", "n", "c"}), "contradict"));
  CHECK(has(wrong({"run", "-q", "-v", "n", "c"}), "contradict"));
  for (const char* command : {"run", "acquire"}) {
    CHECK(has(wrong({command, "-s", "-x", "n", "c"}), "--shared and --exclusive contradict"));
    CHECK(has(wrong({command, "--slots", "3", "-s", "n", "c"}), "--shared and --slots"));
    CHECK(has(wrong({command, "-x", "--slots=3", "n", "c"}), "--exclusive and --slots"));
  }
  CHECK(has(wrong({"acquire", "-n", "n", "-w", "5"}), "contradict"));
  CHECK(has(wrong({"wait", "-n", "n", "-w", "5"}), "contradict"));
}

TEST_CASE("the advice about a name that begins with - has the -- before it") {
  CHECK(has(wrong({"run", "--", "-n"}), "write: dlock run -- -n -- CMD"));
  CHECK(has(wrong({"run", "--", "-n", "-x"}), "the command: dlock run -- -n -- -x …"));
}

TEST_CASE("unknown options and commands are refused by name") {
  CHECK(has(wrong({"run", "--frob", "n", "c"}), "\"--frob\""));
  CHECK(has(wrong({"run", "-Z", "n", "c"}), "-Z"));
  CHECK(has(wrong({"order-42", "--", "job"}), "there is no command \"order-42\""));
  CHECK(has(wrong({"order-42", "--", "job"}), "dlock run NAME -- CMD"));
  CHECK(has(wrong({"order-42", "--", "job"}),
            "there are run, acquire, renew, release, wait, inspect, list, forget, "
            "freeze, unfreeze, force-release, doctor and config;"));
  CHECK(has(wrong({"acqiure", "n"}), "; did you mean acquire?"));
  CHECK(has(wrong({"run", "--max-hlod", "5s", "n", "c"}), "; did you mean --max-hold?"));
  wrong({"run", "--json", "n", "c"});     // belongs to others
  wrong({"inspect", "--ttl", "5", "n"});  // belongs to run
  wrong({"list", "--yes"});
  CHECK(has(wrong({"run", "--wai", "5", "n", "c"}), "--wai"));  // no guessing
}

TEST_CASE("words of other programs are explained") {
  CHECK(has(wrong({"lock", "n", "c"}), "dlock run NAME -- CMD"));
  CHECK(has(wrong({"unlock", "n"}), "dlock release NAME"));
  CHECK(has(wrong({"status", "n"}), "dlock inspect NAME"));
  CHECK(has(wrong({"ls"}), "dlock list"));
  CHECK(has(wrong({"run", "--try", "n", "c"}), "to give up at once is -n"));
  CHECK(has(wrong({"run", "-child-exit-code", "n", "c"}), "is the default of dlock run"));
  CHECK(has(wrong({"run", "-try=5s", "n", "c"}), "consul's -try is -w DUR"));
  CHECK(has(wrong({"run", "-try=5s", "n", "c"}), "there is no option \"-try\""));
  CHECK(has(wrong({"config", "n"}), "config takes no operand"));
}

TEST_CASE("a flag takes no value") {
  CHECK(has(wrong({"run", "--nonblock=false", "n", "c"}), "\"--nonblock\" takes no value"));
  CHECK(has(wrong({"run", "--verbose=2", "n", "c"}), "takes no value"));
  wrong({"run", "-v=x", "n", "c"});
  CHECK(has(wrong({"list", "--json=x"}), "\"--json\" takes no value"));
}

}  // namespace dlock
