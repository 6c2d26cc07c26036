"""A document with its checksum behind it.

By it a torn write is told from a whole one.
"""

from __future__ import annotations

import zlib


class Torn(ValueError):
    """The content is not what was sealed."""


def seal(content: bytes) -> bytes:
    r"""The content, which has no line break, and its CRC-32 on a second line.

    >>> seal(b'{"batch": 7}')
    b'{"batch": 7}\ncrc32 ba7d5ff8\n'
    """
    return content + b"\ncrc32 %08x\n" % zlib.crc32(content)


def unseal(whole: bytes) -> bytes:
    r"""What was sealed.

    >>> unseal(seal(b'{"batch": 7}'))
    b'{"batch": 7}'

    Raises `Torn` if a byte of content or checksum is missing or another one.
    """
    content = whole.partition(b"\n")[0]
    if whole != seal(content):
        raise Torn("other content than was written")
    return content
