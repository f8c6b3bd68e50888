"""The text that a person who started the gateway by hand reads when it is ready."""


def welcome(url: str, docs_address: str, key_file: object, seconds: float, text_model: str) -> str:
    """The text printed when the gateway is ready: its address and three commands to try. `docs_address` is empty where
    callers may not read the documentation, `text_model` where no model answers text."""
    crawled, wanted = "https://example.com/", "example domain"
    if docs_address:
        crawled, wanted = f"http://{docs_address}/docs/", "how long until a revoked key is refused"
    headers = f'-H "Authorization: Bearer $(cat {key_file})" -H "Content-Type: application/json"'
    call = f"curl -s {url}/tools/websearch/mcp {headers}"
    rpc = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"websearch-%s","arguments":%s}}'
    question = '"messages":[{"role":"user","content":"What is an HTTP gateway?"}],"max_tokens":60'
    lines = [f"\nThe gateway answers on {url} after {seconds:.1f} s. Its key is in {key_file}. Try:\n"]
    if text_model:
        lines.append(f'curl -s {url}/v1/chat/completions {headers} -d \'{{"model":"{text_model}",{question}}}\'\n')
    crawl = rpc % ("crawl", f'{{"url":"{crawled}","limit":20}}')
    search = rpc % ("search", f'{{"query":"{wanted}","max_results":3}}')
    lines.append(f"{call} -d '{crawl}' | head -c 2000; echo; {call} -d '{search}'\n")
    lines.append(f"{call} -d '{rpc % ('search_status', '{}')}'\n\n")
    return "\n".join(lines)
