"""Reports on several images become one, and warnings reach the caller where all warnings stand."""

from dataclasses import replace

from gateway.services.ocr.images import Image
from gateway.services.ocr.joined_answers import reported

SURE = {"low_confidence": False, "scripts": ["Latin"], "warnings": [], "lines": [{"text": "a", "page": 1}]}
DOUBT = {
    "low_confidence": True,
    "scripts": ["Latin", "Thai"],
    "warnings": ["doubt"],
    "lines": [{"text": "b", "page": 1}],
}

IMAGE = Image("data:", 40, 30, "messages[0].content[1].file")


def test_the_report_on_one_image_is_given_as_it_is() -> None:
    assert reported([SURE], {}, [IMAGE]) == {"ocr": SURE}


def test_several_images_have_one_report_with_their_numbers() -> None:
    made = reported([SURE, DOUBT], {"warnings": ["first"]}, [IMAGE, IMAGE])
    assert made["warnings"] == ["first", "image 2: doubt"]
    assert made["ocr"]["low_confidence"] and made["ocr"]["scripts"] == ["Latin", "Thai"]
    assert [line["page"] for line in made["ocr"]["lines"]] == [1, 2]


def test_a_server_that_reports_nothing_gives_warnings_alone() -> None:
    assert reported([{"warnings": []}], {}, [IMAGE]) == {"ocr": {"warnings": []}}
    assert reported([{"warnings": "no list", "lines": 3}], {}, [IMAGE]) == {"ocr": {"warnings": []}}


def test_pages_of_a_document_are_named_by_their_numbers_after_what_was_left_out() -> None:
    made = reported([SURE, DOUBT], {}, [replace(IMAGE, page=3), replace(IMAGE, page=5)], ["page 4 was not read: x"])
    assert made["ocr"]["warnings"] == ["page 4 was not read: x", "page 5: doubt"]


def test_uncertain_words_stand_beside_the_report_with_the_number_of_their_image() -> None:
    word = {"text": "105", "alternatives": ["1O5"], "box": [1, 2, 3, 4]}
    unsure = {**SURE, "uncertain": [word]}
    assert reported([unsure], {}, [IMAGE])["uncertain"] == [word]
    made = reported([SURE, unsure], {}, [IMAGE, IMAGE])
    assert made["uncertain"] == [{**word, "page": 2}] and "uncertain" not in made["ocr"]
