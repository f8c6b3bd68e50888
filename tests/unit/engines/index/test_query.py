"""What a query asks for: its words, names and language, a message, kinds of pages, and what defines a name."""

import pytest

from gateway.engines.index.query import is_english, query_terms
from gateway.engines.index.signals import defines, is_message, lasting_text, page_prior
from gateway.engines.words.text import MARK


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("how do I use lru_cache", ("use", "lru_cache")),
        ("getElementById returns null", ("getelementbyid", "get", "element", "id", "returns", "null")),
        ("what is it", ("what", "is", "it")),
        ("RFC9110 Retry-After", ("rfc9110", "retry")),
        ("__init__", ("init",)),
        ("wie lange ist die Kündigungsfrist", ("lange", "kundigungsfrist")),
        ("l'espace disque, qu'elle écrase", ("espace", "disque", "elle", "ecrase")),
        ("don't panic", ("don't", "panic")),
    ],
)
def test_names_are_looked_up_whole_and_in_parts_and_stop_words_if_alone(text: str, words: tuple[str, ...]) -> None:
    assert query_terms(text).words == words


@pytest.mark.parametrize("query", ["how do I set printers up", "kubectl printr", "packages of the system"])
def test_an_english_query_is_looked_up_by_its_words_alone(query: str) -> None:
    assert all(not pair.endswith(MARK) or pair[:-1] in ("kubectl", "printr") for pair in query_terms(query).pairs)


ENGLISH = (
    "how do I set printers up", "lru_cache maxsize", "git rebase --autosquash", "KeepAliveTimeout",
    "x86 sse2 intrinsics", "Archive",
)  # fmt: skip
OTHER = (
    "Zeitzone einstellen", "wie entferne ich ein Paket", "произношение слова debian", "パッケージ apt",
    "Verschlüsselung",
)  # fmt: skip


@pytest.mark.parametrize("query", ENGLISH + OTHER)
def test_a_query_is_english_unless_its_words_tell_otherwise(query: str) -> None:
    assert is_english(query) is (query in ENGLISH)


@pytest.mark.parametrize(
    ("url", "title", "query", "place"),
    [
        # Listings, sources and release notes rank behind guides (-1) unless they are asked for.
        ("a.test/guide/install.html", "Installing", "install", 0),
        ("a.test/genindex.html", "Index", "install", -1),
        ("a.test/doc_backlink_crossref.html", "Backlink Crossreference", "install", -1),
        ("a.test/_modules/pkg/core.html", "pkg.core", "install", -1),
        ("a.test/_modules/pkg/core.html", "pkg.core", "source code of pkg.core", 0),
        ("a.test/whatsnew/3.11.html", "What's New In 3.11", "install", -1),
        ("a.test/whatsnew/3.11.html", "What's New In 3.11", "what's new in 3.11", 0),
        ("a.test/releases/4.2.html", "4.2 release notes", "release notes 4.2", 1),
        ("a.test/blog/index.html", "A blog", "install", 0),
        # Pages of the site that a query names are raised (1).
        ("www.postgresql.org/docs/16/sql-copy.html", "A page", "postgres load a csv file", 1),
        ("docs.test/django/ref/csrf.html", "A page", "django forms", 1),
        ("docs.test/django/ref/csrf.html", "A page", "csrf ref", 0),
        ("docs.python.org/3/library/re.html", "A page", "python docs", 1),
        ("docs.sqlite.org/lang.html", "A page", "python docs", 0),
        ("tooling.test/a", "A page", "tool", 1),
        ("internationalisation.test/a", "A page", "int", 0),
        ("127.0.0.1:8080/page", "A page", "8080 127", 0),
        ("a.test/python", "A page", "python", 0),
    ],
)
def test_the_kind_and_the_site_of_a_page_raise_or_lower_it(url: str, title: str, query: str, place: int) -> None:
    prior = page_prior(query)(f"https://{url}", title)
    assert (prior > 1) - (prior < 1) == place


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("FATAL: no room for user app_rw", True),
        ("src/app.py:41: error: Skipping the module", True),
        ("[engine] DEBUG: Filtered a request", True),
        ("django.core.exceptions.AppRegistryNotReady", False),
        ("UnicodeDecodeError reading a file", True),
        ("how do I tell what time it is", False),
        ("std::vector push_back", False),
        ("localhost:8080 is busy", False),
        ("Error boundaries", False),
        ("==4021== Invalid free", True),
        ("worker[311] gave up", True),
        ("2025-02-11 09:12:44 gave up", True),
        ("list[2] of a string", False),
        ("how to bind 10.0.0.1", False),
    ],
)
def test_a_label_or_the_name_of_an_exception_makes_a_query_a_message(query: str, expected: bool) -> None:
    assert is_message(query) is expected


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("2025-02-11 09:12:44.103 UTC [8821] FATAL: no room", "FATAL: no room"),
        ("[Tue Mar 04 11:20:31 2025] [core:error] [pid 77] no room", "[ ] [core:error] [ ] no room"),
        ("connect to mx.test[203.0.113.9]:25: refused", "connect to mx.test[ ]: : refused"),
        ("==88== Invalid write of size 8 at 0x4848FD7: push", "Invalid write of size at : push"),
        ("** ann+x@old.test: no such user", "** : no such user"),
        ("OSError: [Errno 98] in use (10), line 7, 503 or 30.00", "OSError: [Errno 98] in use (10), line , 503 or"),
        ("error: 12 34", "error: 12 34"),
        ("how to bind 10.0.0.1 and 8 others", "how to bind 10.0.0.1 and 8 others"),
        ("python 3.11 or 7 zip", "python 3.11 or 7 zip"),
    ],
)
def test_of_a_message_what_differs_each_time_is_left_out(message: str, left: str) -> None:
    assert " ".join(lasting_text(message).split()) == left


@pytest.mark.parametrize(
    ("name", "headings", "body", "is_defined"),
    [
        ("permitlocalcommand", "", "\n PermitLocalCommand \n\nAllow local commands. The default is no.", True),
        ("max workers", "Settings Pool", "  max  workers  ( integer )\n\nHow many there may be.", True),
        ("s ififo", "stat", "Other.\n\n stat.S  IFIFO \n\nFIFO.", True),
        ("rewritebase", "mod rewrite RewriteBase Directive", "Sets the base.", True),
        ("port", "", "Ciphers\n\n Port \n\n ProxyCommand \n\n User \n\n", False),
        ("port", "", "-  Port \n\nThe next paragraph is a sentence.", False),
        ("port", "", "This sentence is about a port.\n\nAnd so is this one. Truly.", False),
        ("port", "", " Ports \n\nSeveral of them. Many.", False),
        ("port", "Port numbers of well known services", "None of them.", False),
        ("port", "", "port\nfollows without a blank line. So no term.", False),
        ("port", "", " port ", False),
    ],
)
def test_a_term_or_the_last_heading_defines_a_name(name: str, headings: str, body: str, is_defined: bool) -> None:
    assert defines(name, headings, body) is is_defined
