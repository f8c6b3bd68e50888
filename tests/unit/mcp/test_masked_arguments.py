"""Arguments that the sanitizer has masked go to the service as they are then, and are refused where that is no use."""

from gateway.mcp.messages import RpcBatch
from tests.support.web_tools import Desk


def masking() -> Desk:
    """A desk whose sanitizer takes 4111 for a card."""
    desk = Desk()

    def mask(exchange: RpcBatch) -> None:
        for unit in desk.dialect.request_units(exchange):
            for slot in unit.slots:
                slot.text = slot.text.replace("4111", "[REDACTED:CREDIT_CARD]")

    desk.sanitize = mask
    return desk


async def test_masked_arguments_go_to_the_service_masked() -> None:
    desk = masking()
    answer = await desk.call("search", {"query": "card 4111"})
    assert not answer.is_error and desk.tools.seen[0][1].query == "card [REDACTED:CREDIT_CARD]"
    answer = await desk.call("search", {"query": "x", "start_date": "4111-01-01"})
    assert answer.is_error and "start_date" in answer.error["message"] and "masked" in answer.error["message"]


async def test_a_mask_that_is_longer_than_its_value_makes_no_argument_too_long() -> None:
    desk = masking()
    answer = await desk.call("search", {"query": "4111" * 500, "include_domains": ["a.org"]})
    assert not answer.is_error and desk.tools.seen[0][1].query == "[REDACTED:CREDIT_CARD]" * 500
    answer = await desk.call("map", {"url": "https://example.com/", "instructions": "4111" * 500})
    assert not answer.is_error
    answer = await desk.call("search", {"query": "4111" * 500 + "x"})
    assert answer.is_error and "at most 2000 characters" in answer.error["message"]
