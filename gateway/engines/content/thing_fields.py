"""Which properties of schema.org's types `things` tells, in which order and form: a table.

Source: schema.org's types and properties, and which of them Google's documentation of structured data asks for.
"""

Field = tuple[str, str, str]
"""`(properties, form, label)`. `properties` are names with blanks between them; the first one that has a value is
written, and "" is the object itself. `form` is `fact`, `text`, `list`, `steps` or `questions`."""
_ARTICLE = (
    ("author", "fact", "Author"),
    ("datePublished", "fact", "Published"),
    ("articleBody text description abstract", "text", ""),
)
_EVENT = (
    ("startDate", "fact", "Start"),
    ("endDate", "fact", "End"),
    ("eventStatus", "fact", "Status"),
    ("location", "fact", "Place"),
    ("performer", "fact", "With"),
    ("organizer", "fact", "Organiser"),
    ("offers", "fact", "Price"),
    ("description", "text", ""),
)
_QUESTIONS = (("description", "text", ""), ("mainEntity", "questions", ""))
_FILM = (
    ("director", "fact", "Director"),
    ("actor", "fact", "Cast"),
    ("dateCreated datePublished", "fact", "Date"),
    ("duration", "fact", "Duration"),
    ("genre", "fact", "Genre"),
    ("contentRating", "fact", "Rated"),
    ("aggregateRating", "fact", "Rating"),
    ("description", "text", ""),
)
_FIELDS: dict[str, tuple[Field, ...]] = {
    "recipe": (
        ("description", "text", ""),
        ("author", "fact", "Author"),
        ("recipeYield yield", "fact", "Yield"),
        ("prepTime", "fact", "Preparation"),
        ("cookTime", "fact", "Cooking"),
        ("totalTime", "fact", "Total time"),
        ("nutrition", "fact", "Nutrition"),
        ("aggregateRating", "fact", "Rating"),
        ("recipeIngredient ingredients", "list", "Ingredients"),
        ("recipeInstructions", "steps", "Instructions"),
    ),
    "howto": (
        ("description", "text", ""),
        ("totalTime", "fact", "Total time"),
        ("estimatedCost", "fact", "Cost"),
        ("supply", "list", "Supplies"),
        ("tool", "list", "Tools"),
        ("step steps", "steps", "Steps"),
    ),
    "jobposting": (
        ("hiringOrganization", "fact", "Organisation"),
        ("jobLocation", "fact", "Place"),
        ("jobLocationType", "fact", "Kind of place"),
        ("applicantLocationRequirements", "fact", "Applicants from"),
        ("employmentType", "fact", "Employment"),
        ("baseSalary estimatedSalary", "fact", "Salary"),
        ("datePosted", "fact", "Posted"),
        ("validThrough", "fact", "Valid until"),
        ("description", "text", ""),
        ("responsibilities", "text", "Responsibilities"),
        ("qualifications", "text", "Qualifications"),
        ("skills", "text", "Skills"),
        ("jobBenefits", "text", "Benefits"),
    ),
    "book": (
        ("author", "fact", "Author"),
        ("publisher", "fact", "Publisher"),
        ("datePublished", "fact", "Published"),
        ("isbn", "fact", "ISBN"),
        ("numberOfPages", "fact", "Pages"),
        ("inLanguage", "fact", "Language"),
        ("genre", "fact", "Genre"),
        ("aggregateRating", "fact", "Rating"),
        ("description abstract", "text", ""),
    ),
    "faqpage": _QUESTIONS,
    "qapage": _QUESTIONS,
    "question": (("", "questions", ""),),
    **dict.fromkeys(("movie", "tvseries", "tvepisode"), _FILM),
}
"""The fields that are written for each type, by the type's name in lower case."""
_FAMILIES = (("event", _EVENT), ("festival", _EVENT), ("article", _ARTICLE), ("posting", _ARTICLE))
"""The fields of types that are not in _FIELDS, by the end of their names: MusicEvent, NewsArticle."""


def is_thing(types: frozenset[str]) -> bool:
    """True for an object with one of these types (in lower case) of which `write_things` tells."""
    return any(fields_of(kind) for kind in types)


def fields_of(kind: str) -> tuple[Field, ...]:
    """The fields that are written for a type; most types have none."""
    return _FIELDS.get(kind) or next((fields for end, fields in _FAMILIES if kind.endswith(end)), ())
