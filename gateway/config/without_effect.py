"""Settings of an earlier version that are still read, and have no effect any more. They stay for one version."""

from collections.abc import Iterator

from gateway.config.settings import Config

_PARSER = (
    "has no effect any more; leave it out, and start the upstream so that it parses tool calls itself "
    "(llama.cpp: --jinja; vLLM: --enable-auto-tool-choice --tool-call-parser NAME; SGLang: --tool-call-parser NAME; "
    "Ollama does)"
)


def without_effect(config: Config) -> Iterator[tuple[str, str]]:
    """Each as `(key path, what to do instead)`."""
    for index, model in enumerate(config.models):
        for position, upstream in enumerate(model.upstreams):
            if upstream.tools == "prompt":
                yield f"models[{index}].upstreams[{position}].tools", _PARSER
