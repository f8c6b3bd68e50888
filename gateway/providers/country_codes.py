"""ISO 3166-1 alpha-2 codes of the countries that the search tool takes, from schemas/country.json."""

from gateway import schemas


def alpha2(name: str | None) -> str | None:
    """The code in lower case (`de`) of a country's English name in lower case; None for no or an unknown name."""
    codes: list[str] = schemas.load("country")["x-codes"].get(name, [])
    return codes[0] if codes else None
