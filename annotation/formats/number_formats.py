"""What a workbook shows of a number, where its cell says how many digits, decimals or per cent are shown."""

import re
from decimal import ROUND_HALF_UP, Decimal, DecimalException

# Digits, at least so many; with commas or without; decimals; per cent. Others (currencies, fractions) are not read.
_SIMPLE = re.compile(r"(?P<commas>#,##)?#?(?P<digits>0+)(?:\.(?P<decimals>0+))?(?P<percent>%)?")
KEPT_DIGITS = 15  # of a number; a workbook turns the others into zeros


def shown_number(value: str, number_format: str) -> str | None:
    """How a workbook shows a number; None where the format is not one of the simple ones.

    >>> shown_number("5", "000"), shown_number("0.5", "0%"), shown_number("3.1", "0.00"), shown_number("1", "General")
    ('005', '50%', '3.10', None)
    """
    found = _SIMPLE.fullmatch(number_format.split(";")[0])
    if found is None:
        return None
    try:
        number = Decimal(value) * (100 if found["percent"] else 1)
        rounded = abs(number).quantize(Decimal(1).scaleb(-len(found["decimals"] or "")), ROUND_HALF_UP)
    except DecimalException:
        return None
    if not rounded.is_finite():
        return None
    whole, _point, decimals = f"{rounded:f}".partition(".")
    whole = f"{int(whole):,}" if found["commas"] else whole.zfill(len(found["digits"]))
    sign = "-" if number < 0 and rounded else ""
    return f"{sign}{whole}{'.' if decimals else ''}{decimals}{found['percent'] or ''}"


def digits_of(value: str) -> int:
    """How many digits the whole part of a number has."""
    return Decimal(value).adjusted() + 1
