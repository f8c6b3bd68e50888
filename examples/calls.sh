#!/bin/sh
# One call of every kind. PAGE is an address to read; by default the gateway's own documentation.
set -eu
if [ -z "${GATEWAY_KEY:-}" ]; then echo "GATEWAY_KEY is not set; examples/README.md says how" >&2; exit 1; fi
: "${GATEWAY_URL:=http://127.0.0.1:8080}" "${PAGE:=http://127.0.0.1:9464/docs/keys-and-limits}"

ask() { # method, path, body
    curl -sS --fail-with-body -X "$1" "$GATEWAY_URL$2" -H "Authorization: Bearer $GATEWAY_KEY" -H "Content-Type: application/json" ${3:+-d "$3"}
    echo
}

echo "models:" && ask GET /v1/models
echo "chat:" && ask POST /v1/chat/completions '{"model": "SvcLLM", "max_tokens": 20, "messages": [{"role": "user", "content": "Say hello."}]}'
echo "responses:" && ask POST /v1/responses '{"model": "SvcLLM", "max_output_tokens": 20, "input": "Say hello."}'
echo "messages:" && ask POST /v1/messages '{"model": "SvcLLM", "max_tokens": 20, "messages": [{"role": "user", "content": "Say hello."}]}'
echo "extract:" && ask POST /tools/websearch/mcp "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\",
  \"params\": {\"name\": \"websearch-extract\", \"arguments\": {\"urls\": [\"$PAGE\"]}}}"
echo "search:" && ask POST /tools/websearch/mcp '{"jsonrpc": "2.0", "id": 2, "method": "tools/call",
  "params": {"name": "websearch-search", "arguments": {"query": "what a key may do", "max_results": 3}}}'
