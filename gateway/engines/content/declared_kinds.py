"""What a page says in its head or structured data that it is about: one product, or an article.

Runs in the parsing processes. Decides nothing: `selection` does.
"""

from gateway.engines.html.metadata import Head

_PRODUCTS = frozenset({"Product", "ProductGroup"})
_LISTS = frozenset({"ItemList", "CollectionPage", "OfferCatalog", "SearchResultsPage"})
_ARTICLES = ("Article", "BlogPosting", "Recipe")
_DISCUSSIONS = frozenset({"DiscussionForumPosting", "SocialMediaPosting", "QAPage", "Question"})


def declares_product(head: Head) -> bool:
    """True for a page that says in its head or structured data that it is about one product, not a list of them."""
    is_named = head.meta.get("og:type", "").lower() in ("product", "og:product", "product.item")
    return (is_named or bool(head.kinds & _PRODUCTS)) and head.kinds.isdisjoint(_LISTS)


def declares_article(head: Head) -> bool:
    """True for a page that says in its structured data that it is an article or a recipe, and no discussion."""
    is_named = any(kind.endswith(_ARTICLES) for kind in head.kinds)
    return is_named and head.kinds.isdisjoint(_DISCUSSIONS)
