# SPDX-License-Identifier: MIT
"""The program for those who install with pip or npm. Both are called dlock-bin, as `dlock` belongs to
others there; the command is dlock."""
import base64
import hashlib
import json

import archive
from built import PROJECT, ROOT, SUMMARY

NAME = "dlock-bin"
# A static program needs no libc, so each of these is true.
WHEEL_TAGS = {"amd64": ("manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"),
              "arm64": ("manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64")}
TEXTS = ("LICENSE", "NOTICE", "LGPL-2.1.txt", "THIRD-PARTY.txt")
README = (ROOT / "README.md").read_text()


def texts(built):
    return [(name, (built.tree / "share/doc/dlock" / name).read_bytes()) for name in TEXTS]


def wheel(built, folder):
    """A wheel (PEP 427) whose only content is a script, which pip puts beside python."""
    tag = f"py3-none-{WHEEL_TAGS[built.arch]}"
    stem = f"{NAME.replace('-', '_')}-{built.version}"
    info = f"{stem}.dist-info/"
    metadata = [f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {built.version}\nSummary: {SUMMARY}",
                f"License-Expression: {built.licence()}",
                *(f"License-File: {name}" for name in TEXTS),
                f"Project-URL: Homepage, {PROJECT}\nDescription-Content-Type: text/markdown\n",
                README]
    about = "Wheel-Version: 1.0\nGenerator: dlock\nRoot-Is-Purelib: false\n" + "".join(
        f"Tag: py3-none-{platform}\n" for platform in WHEEL_TAGS[built.arch].split("."))
    entries = [(f"{stem}.data/scripts/dlock", 0o755, built.program.read_bytes()),
               *((f"{info}licenses/{name}", 0o644, text) for name, text in texts(built)),
               (info + "METADATA", 0o644, "\n".join(metadata).encode()),
               (info + "WHEEL", 0o644, about.encode())]
    record = "".join(f"{path},sha256={digest(content)},{len(content)}\n"
                     for path, _, content in entries) + f"{info}RECORD,,\n"
    entries.append((info + "RECORD", 0o644, record.encode()))
    (folder / f"{stem}-{tag}.whl").write_bytes(archive.zipped(entries))


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


# A shell gives its place to dlock, so signals, the terminal and the exit status are dlock's own; a
# program in JavaScript would stay between.
CHOOSER = """#!/bin/sh
case $(uname -m) in
  x86_64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) echo "dlock: there is no program for a $(uname -m) in this package" >&2; exit 126 ;;
esac
here=$(dirname "$(readlink -f "$0")")
exec "$here/dlock-$arch" "$@"
"""


def npm(builds, folder):
    """One package with the programs of all architectures."""
    about = {"name": NAME, "version": builds[0].version, "description": SUMMARY, "homepage": PROJECT,
             "repository": {"type": "git", "url": f"git+{PROJECT}.git"},
             "license": f"({builds[0].licence()})",
             "os": ["linux"], "cpu": ["x64", "arm64"], "bin": {"dlock": "bin/dlock"}}
    entries = [("package/package.json", 0o644, (json.dumps(about, indent=2) + "\n").encode()),
               ("package/README.md", 0o644, README.encode()),
               ("package/bin/dlock", 0o755, CHOOSER.encode()),
               *((f"package/{name}", 0o644, text) for name, text in texts(builds[0])),
               *((f"package/bin/dlock-{built.arch}", 0o755, built.program.read_bytes())
                 for built in builds)]
    (folder / f"{NAME}-{builds[0].version}.tgz").write_bytes(archive.tar_gz(entries))
