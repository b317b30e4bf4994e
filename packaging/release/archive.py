# SPDX-License-Identifier: MIT
"""Archives whose bytes follow from their content alone: no user, no order of a folder, one time."""
import gzip
import io
import tarfile
import zipfile
from datetime import datetime, timezone

from built import epoch


def tar(entries):
    """Bytes of a tar of (PATH, MODE, CONTENT) or (PATH, MODE, CONTENT, OWNER); a content of None is a
    folder. Folders that are not named come by themselves. The owner is a user and a group; or root."""
    named = {path: (mode, content, *owner) for path, mode, content, *owner in entries}
    for path in list(named):
        for at, letter in enumerate(path):
            if letter == "/":
                named.setdefault(path[:at], (0o755, None))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, (mode, content, *owner) in sorted(named.items()):
            entry = tarfile.TarInfo(path)
            entry.uid = entry.gid = owner[0] if owner else 0
            entry.mode, entry.mtime = mode, epoch()
            if content is None:
                entry.type = tarfile.DIRTYPE
            else:
                entry.size = len(content)
            archive.addfile(entry, None if content is None else io.BytesIO(content))
    return out.getvalue()


def gzipped(data):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0) as packed:
        packed.write(data)
    return out.getvalue()


def tar_gz(entries):
    return gzipped(tar(entries))


def zipped(entries):
    """Bytes of a zip of (PATH, MODE, CONTENT)."""
    # A zip knows no time before 1980.
    time = datetime.fromtimestamp(max(epoch(), 315532800), timezone.utc).timetuple()[:6]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, mode, content in entries:
            entry = zipfile.ZipInfo(path, time)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return out.getvalue()


def tree_of(built, prefix=""):
    """All that is installed, as entries below PREFIX."""
    return [(prefix + path, 0o755 if program else 0o644, (built.tree / path).read_bytes())
            for path, program in built.files()]
