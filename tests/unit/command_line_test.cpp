// SPDX-License-Identifier: MIT
// Which words of the command line are dlock's and which are the child's.
#include "cmd/command_line.hpp"

#include "base/text.hpp"
#include "cmd/help_notes.hpp"

#include <doctest/doctest.h>

#include "support/has.hpp"
#include "support/parsed.hpp"

namespace dlock {

using test::good;
using test::has;
using test::settings;
using test::Words;
using test::wrong;

TEST_CASE("words behind NAME belong to the child, byte for byte") {
  const Words child{"cmd",
                    "-w",
                    "5",
                    "--",
                    "--help",
                    "",
                    "a b",
                    "[.a,.b]",
                    "{x}",
                    "--url=x",
                    "\xff\x01",
                    "'q'",
                    "\"",
                    "-",
                    "--json"};
  for (Words words : {Words{"run", "n", "--"}, Words{"run", "n"}, Words{"run", "--", "n"}}) {
    words.insert(words.end(), child.begin(), child.end());
    const CommandLine line = good(words);
    CHECK(line.command == "run");
    CHECK(line.names == Words{"n"});
    CHECK(line.words == child);
    CHECK(line.settings.empty());
    CHECK_FALSE(line.help);
    CHECK_FALSE(line.json);
  }
}

TEST_CASE("a -- inside the command is the command's, and no word before it is a name") {
  CommandLine line = good({"run", "deploy", "kubectl", "exec", "pod", "--", "rm", "-rf", "data"});
  CHECK(line.names == Words{"deploy"});
  CHECK(line.words == Words{"kubectl", "exec", "pod", "--", "rm", "-rf", "data"});
  line = good({"run", "n", "git", "log", "-p", "--", "file"});
  CHECK(line.names == Words{"n"});
  CHECK(line.words == Words{"git", "log", "-p", "--", "file"});
  CHECK(good({"run", "n", "--", "--", "x"}).words == Words{"--", "x"});
}

TEST_CASE("a -- before NAME ends the options, so that a name may begin with -") {
  for (const char* name : {"-n", "--", "--help", "-c", "-"}) {
    CAPTURE(name);
    const CommandLine line = good({"run", "-v", "--", name, "--", "-x"});
    CHECK(line.names == Words{name});
    CHECK(line.words == Words{"-x"});
    CHECK(settings(line).size() == 1);
    CHECK(good({"run", "--", name, "cmd"}).names == Words{name});
    for (const char* command : {"acquire", "renew", "release", "inspect", "wait"})
      CHECK(good({command, "--", name}).names == Words{name});
  }
}

TEST_CASE("-- may be left out where the command is clear") {
  CHECK(good({"run", "n", "cmd", "-v", "x"}).words == Words{"cmd", "-v", "x"});
  CHECK(good({"run", "-v", "n", "cmd"}).words == Words{"cmd"});
  CHECK(good({"run", "n", "-"}).words == Words{"-"});
  CHECK(good({"run", "n", ""}).words == Words{""});
}

TEST_CASE("--and gives further names, each once") {
  CommandLine line = good({"run", "--and", "b", "-n", "--and=c", "a", "--", "cmd", "--", "x"});
  CHECK(line.names == Words{"a", "b", "c"});
  CHECK(line.words == Words{"cmd", "--", "x"});
  CHECK(good({"run", "--and", "a", "--and", "b", "a", "cmd"}).names == Words{"a", "b"});
  CHECK(good({"run", "--and", "-x", "--and=[a,b]", "-c", "cmd", "a"}).names ==
        Words{"a", "-x", "[a,b]"});
  CHECK(has(wrong({"run", "--and", "b"}), "the lock name is missing"));
  CHECK(has(wrong({"run", "a", "--and", "b", "cmd"}), "dlock run --and … a -- CMD"));
  wrong({"acquire", "--and", "b", "a"});
}

TEST_CASE("other commands take several names, each once") {
  CHECK(good({"acquire", "a", "b", "-n", "b"}).names == Words{"a", "b"});
  CHECK(good({"inspect", "a", "a"}).names == Words{"a", "a"});
}

TEST_CASE("a command behind the names of acquire and the like is refused") {
  for (const std::string command :
       {"acquire", "renew", "release", "inspect", "wait", "list", "forget", "force-release"}) {
    CAPTURE(command);
    CHECK(wrong({command, "deploy", "--", "./deploy.sh"}) ==
          command + " runs no command; use dlock run");
    CHECK(has(wrong({command, "--", "deploy", "--", "x"}), "runs no command"));
    CHECK(good({command, "--", "deploy", "--"}).names == Words{"deploy"});
  }
  CHECK(has(wrong({"acquire", "a", "b", "--", "x"}), "runs no command"));
  CHECK(good({"acquire", "a", "b", "--"}).names == Words{"a", "b"});
  CHECK(good({"release", "--", "a", "-b"}).names == Words{"a", "-b"});
}

TEST_CASE("sixteen locks may be taken at once") {
  Words run{"run"};
  Words acquire{"acquire"};
  for (int i = 0; i < 16; ++i) {
    run.insert(run.end(), {"--and", "n" + std::to_string(i)});
    acquire.push_back("n" + std::to_string(i));
  }
  Words more = run;
  more.insert(more.end(), {"n16", "cmd"});
  run.insert(run.end(), {"n3", "cmd"});
  CHECK(good(run).names.size() == 16);
  CHECK(has(wrong(more), "17 lock names were given: at most 16"));
  for (const char* command : {"acquire", "renew", "release"}) {
    acquire.front() = command;
    CHECK(good(acquire).names.size() == 16);
    Words one_more = acquire;
    one_more.emplace_back("n16");
    CHECK(has(wrong(one_more), "17 lock names were given: at most 16"));
  }
}

TEST_CASE("the value of an option may look like an option, a name or --") {
  CHECK(settings(good({"run", "--reason", "-v", "n", "c"})).at("reason") == "-v");
  CHECK(settings(good({"run", "--reason", "--", "n", "c"})).at("reason") == "--");
  CHECK(settings(good({"run", "--reason", "n", "m", "c"})).at("reason") == "n");
  CHECK(settings(good({"run", "--reason", "", "n", "c"})).at("reason").empty());
  CHECK(settings(good({"run", "--reason=--help", "n", "c"})).at("reason") == "--help");
  CHECK_FALSE(good({"run", "--reason", "--help", "n", "c"}).help);
}

TEST_CASE("an empty value may be written with = too") {
  CHECK(settings(good({"run", "--reason=", "n", "c"})).at("reason").empty());
}

TEST_CASE("brackets, quotes and spaces in a value stay as they are") {
  for (const char* value :
       {"[a,b]", "{x}", "a b", "'a'", "\"a\"", "`a`", "a=b", "#x", "%s", "[", "\\n", "a,b"}) {
    CAPTURE(value);
    CHECK(settings(good({"run", "--reason", value, "n", "c"})).at("reason") == value);
    CHECK(settings(good({"run", std::string("--reason=") + value, "n", "c"})).at("reason") ==
          value);
    CHECK(good({"run", "-c", value, "n"}).shell_command == value);
  }
}

TEST_CASE("short options combine, the last with its value") {
  auto all = settings(good({"run", "-vw", "5", "n", "c"}));
  CHECK(all.at("verbose") == "1");
  CHECK(all.at("wait") == "5");
  all = settings(good({"run", "-vw5", "n", "c"}));
  CHECK(all.at("wait") == "5");
  all = settings(good({"run", "-w5", "n", "c"}));
  CHECK(all.at("wait") == "5");
  all = settings(good({"run", "-vvn", "n", "c"}));
  CHECK(all.at("verbose") == "2");
  CHECK(all.at("nonblock") == "true");
  const CommandLine line = good({"run", "-nE", "9", "n", "c"});
  CHECK(settings(line).at("conflict-exit-code") == "9");
  CHECK(line.names == Words{"n"});
}

TEST_CASE("aliases of flock(1) and timeout(1) are known") {
  CHECK(settings(good({"run", "--nb", "n", "c"})).contains("nonblock"));
  CHECK(settings(good({"run", "--timeout", "5", "n", "c"})).at("wait") == "5");
  CHECK(settings(good({"run", "--wait=5", "n", "c"})).at("wait") == "5");
  CHECK(settings(good({"run", "-k", "5", "n", "c"})).at("kill-after") == "5");
}

TEST_CASE("of an option that is given twice the last counts, but of --url both") {
  CommandLine line =
      good({"run", "-w", "5", "--wait", "7", "--config", "a", "--config", "b", "n", "c"});
  CHECK(settings(line).at("wait") == "7");
  CHECK(line.config == "b");
  line = good({"--url", "redis://a", "run", "--url", "redis://b", "n", "c"});
  CHECK(std::count_if(line.settings.begin(), line.settings.end(), [](const Given& one) {
          return one.name == "url";
        }) == 2);
}

TEST_CASE("options of every command may stand before it") {
  const CommandLine line = good({"--url", "redis://h", "-v", "run", "n", "c"});
  CHECK(line.command == "run");
  CHECK(settings(line).at("url") == "redis://h");
  CHECK(settings(line).at("verbose") == "1");
  CHECK(good({"--config", "f", "list"}).config == "f");
}

TEST_CASE("-c takes a string instead of a command") {
  const CommandLine line = good({"run", "-c", "a | b -- c", "n"});
  CHECK(line.shell_command == "a | b -- c");
  CHECK(line.words.empty());
  CHECK(good({"run", "-c", "x", "n", "--"}).words.empty());
  CHECK(has(wrong({"run", "-c", "x", "n", "cmd"}), "nothing may follow the lock name"));
}

TEST_CASE("options for the mode and the length of a hold") {
  CHECK(settings(good({"run", "-s", "n", "c"})).contains("shared"));
  CHECK(settings(good({"run", "--exclusive", "n", "c"})).contains("exclusive"));
  CHECK(settings(good({"run", "--slots", "3", "n", "c"})).at("slots") == "3");
  const auto all = settings(
      good({"run", "--min-hold", "5", "--max-hold=9", "--no-renew", "--once-per", "1h", "n", "c"}));
  CHECK(all.at("min-hold") == "5");
  CHECK(all.at("max-hold") == "9");
  CHECK(all.at("no-renew") == "true");
  CHECK(all.at("once-per") == "1h");
}

TEST_CASE("options of acquire, renew, release and wait") {
  CommandLine line = good({"acquire", "--json", "-nsE", "9", "--ttl", "5m", "n", "--reason", "r"});
  CHECK(line.json);
  CHECK(settings(line).at("conflict-exit-code") == "9");
  CHECK(settings(line).at("reason") == "r");
  CHECK(is_given(line, "ttl"));
  CHECK_FALSE(is_given(line, "wait"));
  line = good({"renew", "n", "--owner", "o:1", "--every", "5s", "--while=77", "--ttl", "1m"});
  CHECK(line.owner == "o:1");
  CHECK(line.every == "5s");
  CHECK(line.while_pid == "77");
  line = good({"release", "a", "b", "--owner=o#s"});
  CHECK(line.owner == "o#s");
  line = good({"wait", "n", "-w", "5", "-E", "3"});
  CHECK(settings(line).at("wait") == "5");
  wrong({"acquire", "--max-hold", "5", "n"});
  wrong({"acquire", "--once-per", "5", "n"});
  wrong({"release", "--ttl", "5", "n"});
  wrong({"renew", "-w", "5", "n"});
  wrong({"wait", "-s", "n"});
  wrong({"run", "--owner", "o", "n", "c"});
}

TEST_CASE("options of inspect, list and force-release may stand anywhere, until --") {
  CommandLine line = good({"inspect", "a", "--json", "b"});
  CHECK(line.names == Words{"a", "b"});
  CHECK(line.json);
  line = good({"inspect", "--", "--json", "-x"});
  CHECK(line.names == Words{"--json", "-x"});
  CHECK_FALSE(line.json);
  line = good({"force-release", "n", "--now", "-y", "--if-owner", "o", "--if-token=12"});
  CHECK(line.now);
  CHECK(line.yes);
  CHECK(line.if_owner == "o");
  CHECK(line.if_token == "12");
  CHECK(good({"list"}).names.empty());
  CHECK(good({"list", "job-*"}).names == Words{"job-*"});
}

TEST_CASE("help and version need nothing else") {
  CHECK(good({"--help"}).help);
  CHECK(good({"-h"}).short_help);
  CHECK_FALSE(good({"-h"}).help);
  CHECK(good({"run", "--help"}).help);
  CHECK(good({"run", "-h", "n"}).short_help);
  CHECK(good({"inspect", "--help"}).help);
  CHECK(good({"--version"}).version);
  CHECK(good({"-V"}).version);
}

// Returns the help in one line, so that wrapped sentences can be found.
std::string in_one_line(const std::string& help) {
  std::string out;
  for (const char c : help) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!out.empty() && out.back() != ' ')) out += blank ? ' ' : c;
  }
  return out;
}

TEST_CASE("the help lists every option of a command, each in a line of at most 80 columns") {
  for (const char* command : {"",
                              "run",
                              "acquire",
                              "renew",
                              "release",
                              "wait",
                              "inspect",
                              "list",
                              "forget",
                              "force-release"}) {
    CAPTURE(command);
    const std::string help = help_text(command);
    for (const Setting& setting : all_settings()) {
      const bool belongs = setting.commands.empty() || is_option_of(setting, command);
      if (setting.flags.empty() || !belongs) continue;
      CAPTURE(std::string(setting.name));
      for (const auto flag : split(setting.flags, ','))
        CHECK(has(help, std::string(flag)));
      const std::string_view there = meaning_in(command, setting.name);
      CHECK(has(in_one_line(help), std::string(there.empty() ? setting.help : there)));
    }
    CHECK(has(help, "--config FILE"));
    CHECK(has(help, "-V, --version"));
    CHECK(has(help, "\n  -h  "));
    CHECK(has(help, "\n  --help  "));
    CHECK_FALSE(help.empty());
    CHECK(help.back() == '\n');
  }
  CHECK(has(help_text("run"), "-c, --command STRING"));
  CHECK(has(help_text("inspect"), "--json"));
  CHECK(has(help_text("list"), "--json"));
  for (const char* flag : {"--now", "--if-owner ID", "--if-token N", "-y, --yes"})
    CHECK(has(help_text("force-release"), flag));
  CHECK(has(help_text("acquire"), "--json"));
  CHECK(has(help_text("acquire"), "--slots N"));
  CHECK_FALSE(has(help_text("acquire"), "--max-hold"));
  for (const char* flag : {"--owner ID", "--every DUR", "--while PID", "--ttl DUR"})
    CHECK(has(help_text("renew"), flag));
  CHECK(has(help_text("release"), "--owner ID"));
  CHECK(has(help_text("wait"), "-w, --wait, --timeout DUR"));
  for (const char* command :
       {"run", "acquire", "renew", "release", "wait", "inspect", "list", "forget", "force-release"})
    CHECK(has(help_text(""), command));
}

}  // namespace dlock
