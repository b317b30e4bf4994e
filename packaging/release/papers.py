# SPDX-License-Identifier: MIT
"""What comes with a release beside the program: the list of its parts, what is new, and the sums."""
import hashlib
import json
import re
import subprocess
import uuid
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

from built import PROJECT, ROOT, SUMMARY, Refusal, epoch

NAMESPACE = "dlock"  # of the signature, so that one for another purpose is not taken for it


def sbom(built, folder):
    """The parts of the program in CycloneDX's form, with the Debian packages that advisories name."""
    distribution = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', Path("/etc/os-release").read_text(), re.M))
    distro = f"{distribution.get('ID', 'linux')}-{distribution.get('VERSION_ID', 'unknown')}"
    parts = []
    for name, package, version, licence in built.libraries():
        purl = (f"pkg:deb/debian/{quote(package, safe='')}@{quote(version, safe='')}"
                f"?arch={built.arch}&distro={distro}")
        parts.append({"type": "library", "bom-ref": purl, "name": name, "version": version,
                      "purl": purl, "licenses": [{"expression": licence}]})
    program = built.program.read_bytes()
    itself = f"pkg:generic/dlock@{built.version}?arch={built.arch}"
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, itself + digest(program))}",
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch(), timezone.utc).isoformat(),
            "component": {
                "type": "application", "bom-ref": itself, "name": "dlock", "purl": itself,
                "version": built.version, "description": SUMMARY,
                "licenses": [{"license": {"id": "MIT"}}],
                "hashes": [{"alg": "SHA-256", "content": digest(program)}],
                "externalReferences": [{"type": "vcs", "url": PROJECT}]}},
        "components": parts,
        "dependencies": [{"ref": itself, "dependsOn": [part["bom-ref"] for part in parts]}]}
    (folder / f"{built.name}.cdx.json").write_text(json.dumps(document, indent=1) + "\n")


def notes(version):
    """What CHANGELOG.md says of VERSION; of what is not released yet, if it is not there."""
    sections = re.split(r"^## \[", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[1:]
    said = {section.split("]")[0]: section.split("\n", 1)[1].strip() for section in sections}
    text = said.get(version) or said.get("Unreleased")
    if not text:
        raise Refusal(f"CHANGELOG.md says nothing of {version}")
    return f"# dlock {version}\n\n{text}\n"


def digest(content):
    return hashlib.sha256(content).hexdigest()


def sums(folder):
    lines = [f"{digest(path.read_bytes())}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(lines))


def sign(folder, key):
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", NAMESPACE,
                    folder / "SHA256SUMS"], check=True)
