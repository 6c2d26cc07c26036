"""Strings: positions and lengths count Unicode code points."""

from __future__ import annotations

from optimizer.algebra.functions.declaration import declared

FUNCTIONS = (
    declared("||(text text, other text, ...) -> string", name="concat"),
    declared("LIKE(text string, pattern string) -> boolean", name="like"),
    declared("ILIKE(text string, pattern string) -> boolean", name="ilike"),
    declared(
        "STARTS_WITH(text string, start string) -> boolean",
        "Whether a text begins with another.",
        "STARTS_WITH('JFK-LAX', 'JFK')",
        aliases=("prefix",),
    ),
    declared(
        "ENDS_WITH(text string, end string) -> boolean",
        "Whether a text ends with another.",
        "ENDS_WITH('JFK-LAX', 'LAX')",
        aliases=("suffix",),
    ),
    declared(
        "CONTAINS(text string, part string) -> boolean",
        "Whether a text has another in it.",
        "CONTAINS('JFK-LAX', 'K-L')",
    ),
    declared(
        "LOWER(text string) -> string", "The text in small letters.", "LOWER('JFK')", aliases=("lcase",)
    ),
    declared(
        "UPPER(text string) -> string", "The text in capital letters.", "UPPER('jfk')", aliases=("ucase",)
    ),
    declared(
        "TRIM(text string, characters? string) -> string",
        "The text without spaces, or other characters, at both ends.",
        "TRIM('..x..', '.')",
    ),
    declared(
        "LTRIM(text string, characters? string) -> string",
        "The text without spaces, or other characters, at its beginning.",
        "LTRIM('007', '0')",
    ),
    declared(
        "RTRIM(text string, characters? string) -> string",
        "The text without spaces, or other characters, at its end.",
        "RTRIM('1.500', '0')",
    ),
    declared(
        "SUBSTRING(text string, from integer, length? integer) -> string",
        "A part of a text; 1 is its first character, -1 its last.",
        "SUBSTRING('JFK-LAX', 5, 3)",
        aliases=("substr",),
    ),
    declared(
        "LEFT(text string, count integer) -> string",
        "The first characters; all but the last ones if the count is negative.",
        "LEFT('JFK-LAX', 3)",
    ),
    declared(
        "RIGHT(text string, count integer) -> string",
        "The last characters; all but the first ones if the count is negative.",
        "RIGHT('JFK-LAX', 3)",
    ),
    declared(
        "LPAD(text string, length count, fill string) -> string",
        "The text filled up on its left to a length, or cut to it.",
        "LPAD('7', 3, '0')",
    ),
    declared(
        "RPAD(text string, length count, fill string) -> string",
        "The text filled up on its right to a length, or cut to it.",
        "RPAD('7', 3, '.')",
    ),
    declared("REPEAT(text string, count count) -> string", "The text a number of times.", "REPEAT('ab', 3)"),
    declared("REVERSE(text string) -> string", "The text from its end to its beginning.", "REVERSE('abc')"),
    declared(
        "REPLACE(text string, part string, by string) -> string",
        "The text with every occurrence of a part replaced.",
        "REPLACE('1,5', ',', '.')",
    ),
    declared(
        "TRANSLATE(text string, characters string, by string) -> string",
        "The text with each of some characters replaced by the one at its place, or left out.",
        "TRANSLATE('a-b_c', '-_', ' ')",
    ),
    declared(
        "SPLIT_PART(text string, separator string, index integer) -> string",
        "One of the parts between separators; 1 is the first, -1 the last.",
        "SPLIT_PART('JFK-LAX', '-', 2)",
    ),
    declared(
        "STRPOS(text string, part string) -> bigint",
        "Where a part begins in a text, from 1; 0 if it is not in it. Also POSITION(part IN text).",
        "STRPOS('JFK-LAX', '-')",
        aliases=("instr",),
    ),
    declared(
        "CONCAT(value text, ...) -> string",
        "The values as one text; NULL is empty, other than with ||.",
        "CONCAT('a', NULL, 1)",
        rule="written",
    ),
    declared(
        "CONCAT_WS(separator string, value text, ...) -> string",
        "The values that are not NULL as one text, with a separator between them.",
        "CONCAT_WS('-', 'JFK', NULL, 7)",
    ),
    declared(
        "LENGTH(text string) -> bigint",
        "The number of characters.",
        "LENGTH('né')",
        aliases=("len", "char_length", "character_length"),
    ),
    declared("STRLEN(text string) -> bigint", "The number of bytes in UTF-8.", "STRLEN('né')"),
    declared("BIT_LENGTH(text string) -> bigint", "The number of bits in UTF-8.", "BIT_LENGTH('né')"),
    declared("ASCII(text string) -> int", "The Unicode number of the first character, or 0.", "ASCII('A')"),
    declared(
        "UNICODE(text string) -> int",
        "The Unicode number of the first character, or -1.",
        "UNICODE('A')",
        aliases=("ord",),
    ),
    declared("CHR(code int) -> string", "The character of a Unicode number.", "CHR(65)"),
    declared("STRIP_ACCENTS(text string) -> string", "The text without accents.", "STRIP_ACCENTS('Zürich')"),
    declared("NFC_NORMALIZE(text string) -> string", "The text in Unicode's form NFC.", "NFC_NORMALIZE('é')"),
    declared("MD5(text string) -> string", "The MD5 hash, in hexadecimal digits.", "MD5('a')"),
    declared("SHA1(text string) -> string", "The SHA-1 hash, in hexadecimal digits.", "SHA1('a')"),
    declared("SHA256(text string) -> string", "The SHA-256 hash, in hexadecimal digits.", "SHA256('a')"),
    declared(
        "HEX(text string) -> string",
        "The bytes of UTF-8 in hexadecimal digits.",
        "HEX('né')",
        aliases=("to_hex",),
    ),
    declared(
        "UNHEX(text string) -> binary",
        "The bytes of hexadecimal digits.",
        "UNHEX('4A')",
        aliases=("from_hex",),
    ),
    declared("ENCODE(text string) -> binary", "The bytes of a text in UTF-8.", "ENCODE('né')"),
    declared("DECODE(bytes binary) -> string", "The text of bytes in UTF-8.", "DECODE(ENCODE('né'))"),
    declared(
        "TO_BASE64(bytes binary) -> string",
        "Bytes in base 64.",
        "TO_BASE64(ENCODE('né'))",
        aliases=("base64",),
    ),
    declared("FROM_BASE64(text string) -> binary", "The bytes of base 64.", "FROM_BASE64('bsOp')"),
    declared("URL_ENCODE(text string) -> string", "The text as a part of a URL.", "URL_ENCODE('a b')"),
    declared("URL_DECODE(text string) -> string", "The text of a part of a URL.", "URL_DECODE('a%20b')"),
    declared(
        "LEVENSHTEIN(text string, other string) -> bigint",
        "How many characters to change, insert or delete to get from one text to another.",
        "LEVENSHTEIN('kitten', 'sitting')",
        aliases=("editdist3",),
    ),
    declared(
        "DAMERAU_LEVENSHTEIN(text string, other string) -> bigint",
        "As LEVENSHTEIN, but neighbours that change places count once.",
        "DAMERAU_LEVENSHTEIN('ab', 'ba')",
    ),
    declared(
        "HAMMING(text string, other string) -> bigint",
        "At how many places two texts of one length differ.",
        "HAMMING('karolin', 'kathrin')",
        aliases=("mismatches",),
    ),
    declared(
        "JACCARD(text string, other string) -> double",
        "Which share of the characters of two texts is in both.",
        "JACCARD('duck', 'luck')",
    ),
    declared(
        "JARO_SIMILARITY(text string, other string) -> double",
        "The Jaro similarity, from 0 to 1.",
        "JARO_SIMILARITY('duck', 'duckdb')",
    ),
    declared(
        "JARO_WINKLER_SIMILARITY(text string, other string) -> double",
        "The Jaro-Winkler similarity, from 0 to 1.",
        "JARO_WINKLER_SIMILARITY('duck', 'duckdb')",
    ),
)
