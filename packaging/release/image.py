# SPDX-License-Identifier: MIT
"""An image for containers, as the OCI image layout describes it, of nothing but dlock, certificates of
CAs, and a user that is not root. One archive has it for all architectures."""
import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path

import archive
from built import PROJECT, SUMMARY, Refusal, epoch

USER = 65532  # what other images without a system call "nonroot"
# Those of the package, not of this machine: an administrator may have added some to the latter.
AUTHORITIES = Path("/usr/share/ca-certificates/mozilla")
HOME = "var/lib/dlock"
PASSWD = f"root:x:0:0:root:/root:/sbin/nologin\ndlock:x:{USER}:{USER}:dlock:/{HOME}:/sbin/nologin\n"
GROUP = f"root:x:0:\ndlock:x:{USER}:\n"
TEXTS = ("LICENSE", "NOTICE", "LGPL-2.1.txt", "THIRD-PARTY.txt")


class Blobs:
    """The parts of an image, each named by its sum."""

    def __init__(self):
        self.entries = []

    def add(self, kind, content, **more):
        """Returns the descriptor of the new part."""
        if not isinstance(content, bytes):
            content = json.dumps(content, sort_keys=True).encode()
        named = hashlib.sha256(content).hexdigest()
        self.entries.append((f"blobs/sha256/{named}", 0o644, content))
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{named}",
                "size": len(content), **more}


def authorities():
    found = sorted(AUTHORITIES.glob("*.crt"))
    if not found:
        raise Refusal(f"no certificates in {AUTHORITIES}: apt-get install ca-certificates")
    return b"".join(path.read_bytes().strip() + b"\n" for path in found)


def layer(built):
    return archive.tar([
        ("dlock", 0o755, built.program.read_bytes()),
        ("etc/passwd", 0o644, PASSWD.encode()), ("etc/group", 0o644, GROUP.encode()),
        ("etc/ssl/certs/ca-certificates.crt", 0o644, authorities()),
        ("tmp", 0o1777, None),
        (HOME, 0o770, None, USER),  # for locks in files: a volume of a container is given this owner
        *((f"usr/share/doc/dlock/{name}", 0o644, (built.tree / "share/doc/dlock" / name).read_bytes())
          for name in TEXTS)])


def manifest(built, blobs):
    """Adds the image of one architecture; returns its descriptor."""
    content = layer(built)
    created = datetime.fromtimestamp(epoch(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"org.opencontainers.image.title": "dlock", "org.opencontainers.image.source": PROJECT,
             "org.opencontainers.image.description": SUMMARY,
             "org.opencontainers.image.version": built.version,
             "org.opencontainers.image.licenses": built.licence()}
    config = blobs.add("config.v1+json", {
        "architecture": built.arch, "os": "linux", "created": created,
        "config": {"User": f"{USER}:{USER}", "Entrypoint": ["/dlock"], "Cmd": ["--help"],
                   "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/"],
                   "Labels": about},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(content).hexdigest()]},
        "history": [{"created": created, "created_by": "dlock"}]})
    packed = blobs.add("layer.v1.tar+gzip", archive.gzipped(content))
    return blobs.add("manifest.v1+json", {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": [packed], "annotations": about},
        platform={"architecture": built.arch, "os": "linux"})


def index(manifests):
    return {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": manifests}


def make(builds, folder):
    blobs = Blobs()
    version = builds[0].version
    both = blobs.add("index.v1+json", index([manifest(built, blobs) for built in builds]),
                     annotations={"org.opencontainers.image.ref.name": version})
    entries = [("oci-layout", 0o644, b'{"imageLayoutVersion": "1.0.0"}'),
               ("index.json", 0o644, json.dumps(index([both])).encode()), *blobs.entries]
    (folder / f"dlock-{version}-oci.tar").write_bytes(archive.tar(entries))
