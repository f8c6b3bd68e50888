"""Reports on several images become one, and warnings reach the caller where all warnings stand.

They stand in `tests/golden/ocr_reports.json`, a case a line: the reports, the fields that the answer has before, the
pages of the images, what was left out, and what is told.
"""

import json

import pytest

from gateway.domain import Json
from gateway.services.ocr.images import Image
from gateway.services.ocr.joined_answers import reported
from tests.support.paths import GOLDEN

CASES: list[Json] = json.loads((GOLDEN / "ocr_reports.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_reports_on_images_become_one(case: Json) -> None:
    images = [Image("data:", 40, 30, "messages[0].content[1].file", page) for page in case["pages"]]
    assert reported(case["reports"], case.get("fields", {}), images, case.get("left_out", ())) == case["told"]
