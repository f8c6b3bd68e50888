"""The embedded server with its session, as one fixture."""

import aiohttp
import pytest

from tests.support.ocr_running import OcrServer


@pytest.fixture
def at_ocr_url(ocr_session: aiohttp.ClientSession, ocr_url: str) -> OcrServer:
    return OcrServer(ocr_session, ocr_url)
