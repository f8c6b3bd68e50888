from tests.support.gateways import StartGateway
from tests.support.hosted_search import *


async def test_try(start_gateway: StartGateway) -> None:
    async with scene(start_gateway) as s:
        s.model.will(
            round_of("Let me look.", search()),
            round_of("It is Paris [", "1]. See [Lyon](https://b.ex", "ample.org/lyon) and [9]."),
        )
        response = await respond(s, include=["web_search_call.action.sources", "web_search_call.results"])
        for e in s.extra:
            print({k: v for k, v in e.items() if k != "response"})
        print(json.dumps(response["output"], indent=1, ensure_ascii=False), response["usage"], response["tools"])
        for m in s.sent[1]["messages"]:
            print(m)
        print(s.sent[1].get("tools"), s.sent[1].get("tool_choice"))
        s.model.will(
            round_of("Let me look.", search()),
            round_of("It is Paris [", "1]. See [Lyon](https://b.ex", "ample.org/lyon) and [9]."),
        )
        print(await chat(s))
        s.model.will(
            round_of("Let me look.", search(), is_stream=False), round_of("It is Paris [1]. ✓", is_stream=False)
        )
        print(await chat(s, stream=False))
        assert 0


async def test_log(start_gateway: StartGateway) -> None:
    async with scene(start_gateway) as s:
        s.model.will(round_of("Let me look.", search()), round_of("It is Paris [1]"))
        await respond(s)
        print(s.server.log_text())
        assert 0
