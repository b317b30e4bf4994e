# SPDX-License-Identifier: MIT
"""Makes all files of a release from build folders that ./dev has filled; see run.bash beside this.

usage: python3 packaging/release [--packages] [--key FILE] --nfpm PROGRAM FOLDER BUILD…
--packages: only .tar.gz, .deb, .rpm and .apk. FOLDER has to be new, or empty."""
import argparse
import sys
import tempfile
from pathlib import Path

import archive
import image
import packages
import papers
import registries
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
        if not options.packages:
            registries.wheel(built, folder)
            papers.sbom(built, folder)
    if not options.packages:
        registries.npm(builds, folder)
        image.make(builds, folder)
        (folder / "NOTES.md").write_text(papers.notes(builds[0].version))
        papers.sums(folder)
    if options.key:
        papers.sign(folder, options.key)
    return folder


def main():
    parser = argparse.ArgumentParser(prog="packaging/release", description=__doc__)
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--key", help="an SSH key that signs the sums")
    parser.add_argument("--nfpm", required=True)
    parser.add_argument("folder")
    parser.add_argument("build", nargs="+")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = make(parser.parse_args(), scratch)
    except Refusal as refusal:
        sys.exit(f"release: {refusal}")
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>10}  {papers.digest(path.read_bytes())}  {path.name}")


main()
