"""Settings of the listeners, of keys and limits, and of state that machines share. `settings` says how to read them."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret and the name of its credential. `repr` and `str` show the name only."""

    credential: str
    value: str = field(repr=False, compare=False)

    def reveal(self) -> str:
        """The secret itself. Call it where the secret is sent, and keep no copy."""
        return self.value

    def __str__(self) -> str:
        return f"<credential {self.credential}>"


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files with the certificate chain and its private key."""

    cert: str
    key: str


@dataclass(frozen=True, slots=True)
class Server:
    """The product listener.

    `max_body_bytes`: eight images of 3 MB in base64 fit; at double, as many requests need twice the memory.
    `max_text_bytes`: of JSON beside files in base64: a million tokens of a conversation have 4 MB; at double, one body
    holds everybody else up for twice as long.
    `max_json_values`: decoding takes 25 ms and 40 MB for as many empty lists, and long chats have 20,000 values; at
    double, one body holds everybody else up for twice as long, at half, large tables as arguments are refused.
    `header_timeout_s`, `body_timeout_s`: slow mobile clients finish, a slowloris does not hold a connection for long.
    `keep_alive_s`: longer than the 60 s of common proxies, so that the proxy closes first and no request meets a
    closing connection. `drain_s`: long answers of a model end; at half, some are cut, at double, a restart waits for
    one that hangs. `stuck_s`: a blocked event loop; at half, a swapping machine loses sound workers, at double, callers
    of a stuck one wait 20 s. `backlog`: a burst waits instead of being refused; at double, only more clients wait for a
    busy server. `max_in_flight`: bounds memory; at half, a machine of many streams refuses early.
    `trusted_proxies`: none, since anybody can send the header that they are believed for.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    base_path: str = ""
    workers: int = 1
    max_body_bytes: int = 33_554_432
    max_text_bytes: int = 8_388_608
    max_json_values: int = 500_000
    header_timeout_s: float = 10
    keep_alive_s: float = 75
    body_timeout_s: float = 30
    drain_s: float = 120
    stuck_s: float = 10
    backlog: int = 1024
    max_in_flight: int = 1024
    allowed_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    tls: Tls | None = None

    @property
    def url(self) -> str:
        """The listener's address with the base path, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{self.base_path}"


@dataclass(frozen=True, slots=True)
class Ops:
    """The listener for health, metrics and documentation. It asks for no key, hence loopback. 9464: the port that
    OpenTelemetry's specification gives Prometheus exporters. `allowed_hosts`: none, since a name that is not listed
    may be a web page's own, which was given this machine's address to read the metrics."""

    host: str = "127.0.0.1"
    port: int = 9464
    allowed_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """Keys. `bad_keys_per_minute`: a client with an old key that retries every second still gets 401, not 429."""

    keys_file: str = "keys.json"
    bad_keys_per_minute: int = 60
    backend: str = "file"
    seal: Secret | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of keys that have none of their own; 0 = no limit, since an operator who sets none expects none.

    Shares bind only while other keys want the same. `share_of_parse`, `in_flight_share`: at half as much, a key leaves
    more than another key needs; at double, a key that came first has everything until it ends.
    `reserve_tokens`: a usual answer; at half, parallel calls exceed a budget further, at double they are refused early.
    `response_store_bytes_per_key`: a quarter of the store, about 64 conversations of 256 KiB; at half, an agent's long
    session loses its beginning while others store; at double, only two keys are sure of what they have stored.
    """

    per_minute: int = 0
    concurrent: int = 0
    share_of_parse: float = 0.5
    in_flight_share: float = 0.5
    response_store_bytes_per_key: int = 16_777_216
    tokens_per_minute: int = 0
    tokens_per_day: int = 0
    tool_calls_per_day: int = 0
    spend_per_month: float = 0
    reserve_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Shared:
    """State that several workers and machines share; without Redis each machine counts alone.

    `redis_timeout_s`: a command takes under 1 ms in a data centre, and keyed requests wait for two; at half, a pause
    for a snapshot counts as an outage, at double each failure costs a request 0.1 s. `outage_cache_s`: a restart of
    Redis passes unnoticed; at double, a revoked key may live on for ten minutes. `response_ttl_s`: a pause in a
    conversation; at half, a user who comes back from lunch gets `previous_response_not_found`, double only fills the
    store sooner.
    """

    redis_url: Secret | None = None
    redis_timeout_s: float = 0.05
    machines: int = 1
    outage_cache_s: float = 300
    store: str = "shared"
    response_ttl_s: float = 3600


@dataclass(frozen=True, slots=True)
class Price:
    """What `model` (a model's public name, or a web tool's) costs. `cached_input_per_million` None: as other input."""

    model: str
    input_per_million: float = 0
    output_per_million: float = 0
    cached_input_per_million: float | None = None
    tool_call: float = 0
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage by day. `keep_days`: a year and the month after it, in which the year is billed."""

    keep_days: int = 400


@dataclass(frozen=True, slots=True)
class Log:
    """`level`: `debug`, `info`, `warning` or `error`. `format`: `json` or `text`."""

    level: str = "info"
    format: str = "json"
