# SPDX-License-Identifier: MIT
"""Makes the packages from build folders that ./dev has filled; see run.bash beside this."""
import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

import archive
import packages
from built import Built, Refusal


def make(options, scratch):
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Refusal(f"{folder} is not empty")
    builds = [Built(build, scratch).install() for build in options.build]
    for built in builds:
        (folder / f"{built.name}.tar.gz").write_bytes(
            archive.tar_gz(archive.tree_of(built, built.name + "/")))
        packages.make(built, folder, options.nfpm)
    return folder


def main():
    parser = argparse.ArgumentParser(prog="packaging/release", description=__doc__)
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--nfpm", required=True)
    parser.add_argument("folder")
    parser.add_argument("build", nargs="+")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = make(parser.parse_args(), scratch)
    except Refusal as refusal:
        sys.exit(f"release: {refusal}")
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>10}  {hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")


main()
