"""The archive that a model file is, unpacked in steps into a clean one.

What the directory of a zip archive says about its members need not be true: a member of fifty bytes
may unpack to gigabytes before Python cuts it off, and one name may stand for two members. So no
other library reads a file from elsewhere: its members are unpacked here, at most as far as the
directory says, and written to a new archive, without compression.
"""

from __future__ import annotations

from tempfile import SpooledTemporaryFile
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

__all__ = ["clean_copy"]

#: Bytes that are unpacked at once.
_STEP = 2**16
#: A copy that is larger than this is in a temporary file.
_IN_MEMORY = 2**26


def clean_copy(archive: ZipFile) -> IO[bytes]:
    """Return the same members in an archive of our own, whose sizes are what they say.

    Raises
    ------
    ValueError
        For two members of one name, and for ways of compression that do not unpack in steps.

    Examples
    --------
    >>> from io import BytesIO
    >>> stream = BytesIO()
    >>> with ZipFile(stream, "w") as written:
    ...     written.writestr("a.txt", "some text")
    >>> with ZipFile(stream) as read, clean_copy(read) as copy:
    ...     ZipFile(copy).read("a.txt")
    b'some text'
    """
    names = [member.filename for member in archive.infolist()]
    if len(set(names)) != len(names):
        raise ValueError("an archive with two members of one name")
    copy = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (the caller closes it)
    try:
        with ZipFile(copy, "w", ZIP_STORED) as target:
            for member in archive.infolist():
                if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                    raise ValueError(f"an archive with compression {member.compress_type}")
                place = ZipInfo(member.filename)
                with archive.open(member) as source, target.open(place, "w") as sink:
                    while step := source.read(_STEP):
                        sink.write(step)
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy
