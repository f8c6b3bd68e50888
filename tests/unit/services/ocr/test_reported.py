"""Reports on several images become one, and warnings reach the caller where all warnings stand."""

from gateway.services.ocr.service import reported

SURE = {"low_confidence": False, "scripts": ["Latin"], "warnings": [], "lines": [{"text": "a", "page": 1}]}
DOUBT = {
    "low_confidence": True,
    "scripts": ["Latin", "Thai"],
    "warnings": ["doubt"],
    "lines": [{"text": "b", "page": 1}],
}


def test_the_report_on_one_image_is_given_as_it_is() -> None:
    assert reported([SURE], {}) == {"ocr": SURE}


def test_several_images_have_one_report_with_their_numbers() -> None:
    made = reported([SURE, DOUBT], {"warnings": ["first"]})
    assert made["warnings"] == ["first", "image 2: doubt"]
    assert made["ocr"]["low_confidence"] and made["ocr"]["scripts"] == ["Latin", "Thai"]
    assert [line["page"] for line in made["ocr"]["lines"]] == [1, 2]


def test_a_server_that_reports_nothing_gives_warnings_alone() -> None:
    assert reported([{"warnings": []}], {}) == {"ocr": {"warnings": []}}
    assert reported([{"warnings": "no list", "lines": 3}], {}) == {"ocr": {"warnings": []}}
