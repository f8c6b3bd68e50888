"""Mails and archives of mails: their texts decoded, in the order and below the subjects in which they were written."""

from email.message import EmailMessage
from email.policy import SMTP

import pytest

from gateway.engines.documents.sniff import kind_of, read
from tests.support.paths import GOLDEN
from tests.support.read_pages import page_of

LONG = "Grüße an alle, die eine Zeile lesen, die länger als sechsundsiebzig Zeichen ist und darum umgebrochen wird."


def mail(subject: str = "Über die Liste") -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["From"] = "Jürgen Müller <j@example.org>"
    message["Date"] = "Mon, 1 May 2023 10:00:00 +0200"
    message["Subject"] = subject
    return message


@pytest.mark.parametrize("encoding", ["quoted-printable", "base64", "8bit"])
@pytest.mark.parametrize("declared", ["message/rfc822", "text/plain"])
def test_the_text_of_a_mail_is_decoded(encoding: str, declared: str) -> None:
    message = mail()
    message.set_content(f"{LONG}\n\n> zitiert\n", cte=encoding)
    page = page_of(bytes(message), content_type=declared)
    assert page["title"] == "Über die Liste"
    assert page["content"] == (
        "# Über die Liste\n\n**From:** Jürgen Müller \\<j@example.org>  \n"
        f"**Date:** Mon, 01 May 2023 10:00:00 +0200\n\n{LONG}\n\n> zitiert"
    )


@pytest.mark.parametrize("text", ["From: a\nTo: b\n\nno mail", "Note: a text\nthat goes on", "From the start, a text"])
def test_a_text_that_begins_with_a_word_and_a_colon_is_no_mail(text: str) -> None:
    assert kind_of("text/plain", text.encode()) == "text"


def test_parts_nested_without_end_are_read_to_a_bound() -> None:
    head = b"From: a\nDate: b\nSubject: c\n"
    deep = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (at, at) for at in range(5_000))
    assert read("mail", head + deep + b"Content-Type: text/plain\n\nx", "", True)[0] == "c"


def test_an_archive_of_mails_has_the_title_of_its_first() -> None:
    page = page_of((GOLDEN / "documents" / "mails" / "an_archive.mbox").read_bytes(), content_type="text/plain")
    assert (page["kind"], page["title"]) == ("mail", "First")
