# SPDX-License-Identifier: MIT
"""The .deb, the .rpm and the .apk, made by nfpm from one description."""
import gzip
import json
import os
import subprocess
from datetime import datetime, timezone
from email.utils import format_datetime

from built import DESCRIPTION, MAINTAINER, PROJECT, ROOT, SUMMARY, epoch

FILE_NAMES = {"deb": "dlock_{version}_{arch}.deb", "rpm": "dlock-{version}-1.{machine}.rpm",
              "apk": "dlock_{version}_{machine}.apk"}
RPM_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
LICENCES = ("/LICENSE", "/NOTICE", "/LGPL-2.1.txt", "/THIRD-PARTY.txt")
SCRIPTS = ROOT / "packaging/scripts"


def time():
    return datetime.fromtimestamp(epoch(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def debian_changelog(built):
    """In the form of Debian, which is not what nfpm writes of a version without a revision."""
    when = format_datetime(datetime.fromtimestamp(epoch(), timezone.utc))
    text = (f"dlock ({built.version}) stable; urgency=medium\n\n"
            f"  * CHANGELOG.md, beside this file, says what is new.\n\n -- {MAINTAINER}  {when}\n")
    path = built.tree.parent / "changelog.gz"
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return path


def rpm_changelog(built):
    path = built.tree.parent / "changelog.json"
    path.write_text(json.dumps([{
        "semver": built.version + "-1", "date": time(), "packager": MAINTAINER,
        "changes": [{"note": "CHANGELOG.md says what is new."}]}]))
    return str(path)


def script(built, name):
    """A copy with the time of all that is made: an .apk keeps it."""
    path = built.tree.parent / name
    path.write_bytes((SCRIPTS / name).read_bytes())
    os.utime(path, (epoch(), epoch()))
    return str(path)


def contents(built, kind):
    def entry(source, target, mode, **more):
        return {"src": str(source), "dst": target,
                "file_info": {"mode": mode, "mtime": time()}, **more}

    for path, program in built.files():
        target = "/usr/" + path
        more = {}
        if kind == "deb":
            if path.endswith("/LICENSE"):
                continue  # its text is in `copyright`
            target = target.replace("zsh/site-functions", "zsh/vendor-completions")
        if kind == "rpm":
            if path.endswith("/copyright"):
                continue  # Debian's form
            if path.endswith(LICENCES):
                target = target.replace("/doc/", "/licenses/")  # stays where pages are left out
                more = {"type": "licence"}
            elif "/doc/" in path or "/man/" in path:
                more = {"type": "doc"}
        yield entry(built.tree / path, target, 0o755 if program else 0o644, **more)
    if kind == "deb":
        yield entry(debian_changelog(built), "/usr/share/doc/dlock/changelog.gz", 0o644)
        yield entry(ROOT / "packaging/lintian-overrides", "/usr/share/lintian/overrides/dlock", 0o644)
    own = built.tree / "share/doc/dlock"
    for folder in [own, *sorted(path for path in own.rglob("*") if path.is_dir())]:
        yield {"dst": f"/usr/{folder.relative_to(built.tree)}", "type": "dir", "file_info": {"mode": 0o755, "mtime": time()}}


def description(built, kind):
    """What nfpm reads. JSON is YAML too."""
    said = {
        "name": "dlock", "arch": built.arch, "platform": "linux", "version": built.version,
        "section": "utils", "priority": "optional", "maintainer": MAINTAINER,
        "vendor": "dlock maintainers", "homepage": PROJECT, "license": built.licence(),
        "description": f"{SUMMARY}\n{DESCRIPTION}", "umask": 0o022,
        "mtime": time(),
        "recommends": ["ca-certificates"],
        "scripts": {"postinstall": script(built, "postinst")},
        "contents": list(contents(built, kind)),
    }
    if kind == "deb":
        said["scripts"]["postremove"] = script(built, "postrm")
        said["suggests"] = ["redis-server"]
        said["deb"] = {"compression": "xz"}
    if kind == "rpm":
        said["release"] = "1"
        said["changelog"] = rpm_changelog(built)
        said["rpm"] = {"summary": SUMMARY, "group": "Applications/System", "buildhost": "dlock"}
        said["description"] = DESCRIPTION
        said["rpm"]["requires"] = {"post": ["shadow-utils"]}
    return said


def make(built, folder, nfpm, kinds=tuple(FILE_NAMES)):
    for kind in kinds:
        config = built.tree.parent / f"{kind}.json"
        config.write_text(json.dumps(description(built, kind), indent=1))
        name = FILE_NAMES[kind].format(version=built.version, arch=built.arch,
                                       machine=RPM_MACHINES[built.arch])
        subprocess.run([nfpm, "package", "--packager", kind, "--config", config,
                        "--target", folder / name], check=True, stdout=subprocess.DEVNULL)
