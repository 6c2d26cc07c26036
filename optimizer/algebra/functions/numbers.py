"""Numbers: integers and decimals whose overflow is NULL, and doubles."""

from __future__ import annotations

from optimizer.algebra.functions.declaration import declared, operator

FUNCTIONS = (
    operator("add", "+", 2, 2, "arithmetic"),
    operator("subtract", "-", 2, 2, "arithmetic"),
    operator("multiply", "*", 2, 2, "arithmetic"),
    declared("/(number number, by number) -> double", name="divide"),
    declared("//(number integer, by integer) -> wider", name="integer_divide"),
    operator("modulo", "%", 2, 2, "arithmetic", ("mod",)),
    operator("negate", "-", 1, 1, "arithmetic"),
    declared("&(number integer, other integer) -> wider", name="bit_and"),
    declared("|(number integer, other integer) -> wider", name="bit_or"),
    declared("<<(number integer, bits integer) -> wider", name="shift_left"),
    declared(">>(number integer, bits integer) -> wider", name="shift_right"),
    declared("~(number integer) -> wider", name="bit_not"),
    declared(
        "XOR(number integer, other integer) -> wider",
        "The bits that are set in one of two numbers.",
        "XOR(5, 3)",
    ),
    declared(
        "BIT_COUNT(number integer) -> int",
        "How many bits are set.",
        "BIT_COUNT(7)",
        duckdb="CAST(bit_count({0}) AS INTEGER)",
    ),
    declared("ABS(number amount) -> number", "The number without its sign.", "ABS(-5)"),
    declared("SIGN(number amount) -> int", "1, 0 or -1.", "SIGN(-5)", duckdb="CAST(sign({0}) AS INTEGER)"),
    declared("FLOOR(number amount) -> whole", "The next whole number below.", "FLOOR(2.7)"),
    declared(
        "CEIL(number amount) -> whole", "The next whole number above.", "CEIL(2.1)", aliases=("ceiling",)
    ),
    declared(
        "ROUND(number amount, digits? integer) -> number",
        "The number rounded to some digits behind the point; halves go away from zero.",
        "ROUND(2.675, 2)",
    ),
    declared(
        "ROUND_EVEN(number amount, digits int) -> number",
        "The number rounded to some digits behind the point; halves go to the even neighbour.",
        "ROUND_EVEN(2.5e0, 0)",
        aliases=("roundbankers",),
    ),
    declared(
        "TRUNC(number amount, digits? int) -> number",
        "The number cut behind some digits after the point.",
        "TRUNC(2.79e0, 1)",
    ),
    declared("EVEN(number number) -> double", "The next even number away from zero.", "EVEN(2.1)"),
    declared("SQRT(number number) -> double", "The square root.", "SQRT(9)"),
    declared("CBRT(number number) -> double", "The cube root.", "CBRT(27)"),
    declared("POWER(base number, exponent number) -> double", "A power.", "POWER(2, 10)", aliases=("pow",)),
    declared("EXP(number number) -> double", "The power of e.", "EXP(0)"),
    declared("LN(number number) -> double", "The natural logarithm.", "LN(1)"),
    declared(
        "LOG(base number, number? number) -> double",
        "The logarithm to a base; of one argument that to the base 10.",
        "LOG(2, 8)",
    ),
    declared("LOG2(number number) -> double", "The logarithm to the base 2.", "LOG2(8)"),
    declared("LOG10(number number) -> double", "The logarithm to the base 10.", "LOG10(1000)"),
    declared("PI() -> double", "The circumference of a circle by its diameter.", "PI()"),
    declared("RADIANS(degrees number) -> double", "Degrees as radians.", "RADIANS(180)"),
    declared("DEGREES(radians number) -> double", "Radians as degrees.", "DEGREES(PI())"),
    declared("SIN(radians number) -> double", "The sine.", "SIN(0)"),
    declared("COS(radians number) -> double", "The cosine.", "COS(0)"),
    declared("TAN(radians number) -> double", "The tangent.", "TAN(0)"),
    declared("COT(radians number) -> double", "The cotangent.", "COT(PI() / 4)"),
    declared("ASIN(number number) -> double", "The angle of a sine.", "ASIN(0)"),
    declared("ACOS(number number) -> double", "The angle of a cosine.", "ACOS(1)"),
    declared("ATAN(number number) -> double", "The angle of a tangent.", "ATAN(1)"),
    declared("ATAN2(y number, x number) -> double", "The angle of a point.", "ATAN2(1, 1)"),
    declared("SINH(number number) -> double", "The hyperbolic sine.", "SINH(0)"),
    declared("COSH(number number) -> double", "The hyperbolic cosine.", "COSH(0)"),
    declared("TANH(number number) -> double", "The hyperbolic tangent.", "TANH(0)"),
    declared("ASINH(number number) -> double", "The inverse of SINH.", "ASINH(0)"),
    declared("ACOSH(number number) -> double", "The inverse of COSH.", "ACOSH(1)"),
    declared("ATANH(number number) -> double", "The inverse of TANH.", "ATANH(0)"),
    declared("GAMMA(number number) -> double", "The gamma function.", "GAMMA(5)"),
    declared("LGAMMA(number number) -> double", "The logarithm of the gamma function.", "LGAMMA(1)"),
    declared(
        "GCD(number integer, other integer) -> bigint",
        "The greatest common divisor.",
        "GCD(12, 18)",
        aliases=("greatest_common_divisor",),
    ),
    declared(
        "LCM(number integer, other integer) -> bigint",
        "The least common multiple.",
        "LCM(4, 6)",
        aliases=("least_common_multiple",),
    ),
    declared("ISNAN(number number) -> boolean", "Whether a double is no number.", "ISNAN(1.5)"),
    declared("ISINF(number number) -> boolean", "Whether a double is infinite.", "ISINF(1.5)"),
    declared(
        "ISFINITE(number number) -> boolean", "Whether a double is neither infinite nor NaN.", "ISFINITE(1.5)"
    ),
    declared(
        "SIGNBIT(number number) -> boolean", "Whether a double has its sign, also as -0.0.", "SIGNBIT(-1.5)"
    ),
    declared("BIN(number integer) -> string", "The binary digits.", "BIN(5)"),
    declared(
        "FORMAT_BYTES(number integer) -> string", "A number of bytes for people.", "FORMAT_BYTES(123456)"
    ),
)
