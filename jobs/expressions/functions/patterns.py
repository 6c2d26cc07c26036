"""LIKE in time bounded by the product of pattern and text length, however long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable


def matcher(pattern: str) -> Callable[[str], bool]:
    """Compile a LIKE pattern to a function: `%` is any text, `_` any one character.

    >>> matcher("a_%c")("abbc"), matcher("a%b%c")("acb")
    (True, False)
    """
    return _with_any_character(pattern) if "_" in pattern else _of_parts(pattern)


def _of_parts(pattern: str) -> Callable[[str], bool]:
    """Match a pattern without `_`.

    Every part between two `%` is looked for behind the one before it, as far to the left as it goes.
    """
    first, *middle = pattern.split("%")
    if not middle:
        return pattern.__eq__
    last = middle.pop()

    def matches(text: str) -> bool:
        place, end = len(first), len(text) - len(last)
        if place > end or not text.startswith(first) or not text.endswith(last):
            return False
        for part in middle:
            found = text.find(part, place, end)
            if found < 0:
                return False
            place = found + len(part)
        return True

    return matches


def _with_any_character(pattern: str) -> Callable[[str], bool]:
    """Match a pattern with `_`, by bits.

    The beginnings of the pattern that match so far are the bits of one number (Baeza-Yates, Gonnet).
    """
    staying = size = anything = 0
    places: defaultdict[str, int] = defaultdict(int)
    for character in pattern:
        if character == "%":
            staying |= 1 << size
            continue
        if character == "_":
            anything |= 1 << size
        else:
            places[character] |= 1 << size
        size += 1
    advancing = {character: bits | anything for character, bits in places.items()}

    def matches(text: str) -> bool:
        reached = 1
        for character in text:
            reached = (reached & advancing.get(character, anything)) << 1 | reached & staying
            if not reached:
                return False
        return bool(reached >> size)

    return matches
