"""Finds keys and tokens in the forms of their vendors, and private keys in PEM.

Naive form: search the text for every pattern of `vendor_tokens`, which finds the same tokens (a test compares them).
Here one search finds all literal prefixes (or, for patterns without one, their inner marks), and only the patterns with
that prefix are matched there, each over a bounded slice. One automaton of all patterns is no alternative: text made for
the purpose makes it use more states than its memory allows.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import re2

from gateway.sanitize.detectors.published_examples import is_published_secret
from gateway.sanitize.detectors.value_forms import (
    has_high_entropy,
    is_identifier,
    is_program_name,
    is_publishable,
    is_random,
)
from gateway.sanitize.text import Finding, Pattern, View, WorkBudget, searcher, spans

# ----------------------------------------------------------------------------------------------------
# Patterns of the keys and tokens that vendors issue. Data only; `secret_tokens` searches for them.
#
# Each pattern is distinctive (a prefix, a length, an alphabet), so that no word needs to name the token.
# `secret_tokens`
# adds that neither neighbour is a letter or digit. Sources: the vendors' documentation of their token formats, read
# 2026-11.
VENDORS: tuple[tuple[str, str], ...] = (
    # clouds and hosting
    ("AWS access key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("AWS MWS", r"amzn\.mws\.[0-9a-z]{8}-[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{12}"),
    ("AWS Bedrock long-lived", r"ABSK[A-Za-z0-9+/]{60,200}={0,2}"),
    ("AWS Bedrock short-lived", r"bedrock-api-key-[A-Za-z0-9+/=_-]{20,1000}"),
    ("Amazon LWA client", r"amzn1\.(?:application-oa2-client|oa2-cs\.v1)\.[0-9a-f]{32,64}"),
    ("Azure AI and DevOps", r"[A-Za-z0-9]{50,54}JQQJ99[A-Za-z0-9+/]{20,40}={0,2}"),
    ("Azure DevOps", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    ("Azure storage", r"[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}=="),
    ("Azure Entra client secret", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    ("Google API key", r"AIza[A-Za-z0-9_-]{35}"),
    ("Google OAuth secret", r"GOCSPX-[A-Za-z0-9_-]{24,40}"),
    ("Google OAuth access token", r"ya29\.[A-Za-z0-9_-]{20,1000}"),
    ("Google refresh token", r"1//0[A-Za-z0-9_-]{35,150}"),
    ("Google OAuth client", r"\d{6,20}-[a-z0-9]{32}\.apps\.googleusercontent\.com"),
    ("Firebase Cloud Messaging", r"AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{140}"),
    ("Alibaba Cloud", r"LTAI[A-Za-z0-9]{12,30}"),
    ("Tencent Cloud", r"AKID[A-Za-z0-9]{32}"),
    ("DigitalOcean", r"do[opr]_v1_[a-f0-9]{64}"),
    ("Scaleway", r"SCW[A-Z0-9]{17}"),
    ("Exoscale", r"EXO[a-f0-9]{24}"),
    ("Yandex Cloud key", r"AQVN[A-Za-z0-9_-]{35,38}"),
    ("Yandex IAM", r"t1\.[A-Za-z0-9_-]{50,300}={0,2}\.[A-Za-z0-9_-]{80,100}={0,2}"),
    ("Heroku", r"HRKU-[A-Za-z0-9_-]{36,70}"),
    ("Vercel", r"vc[apcirk]_[A-Za-z0-9]{24,70}"),
    ("Netlify", r"nf[pcobu]_[A-Za-z0-9]{36,50}"),
    ("Fly.io", r"fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/=_-]{80,1000}"),
    ("Render", r"rnd_[A-Za-z0-9]{24,40}"),
    ("Cloudflare", r"cf(?:ut|at|k)_[A-Za-z0-9]{40,60}"),
    ("Cloudflare origin CA", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    ("Supabase", r"sbp_[a-f0-9]{40}|sb_(?:secret|publishable)_[A-Za-z0-9_-]{20,64}"),
    ("PlanetScale", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9=._-]{32,64}"),
    ("Neon", r"napi_[a-z0-9]{50,70}"),
    ("Upstash", r"AX[A-Za-z0-9]{2}AAIj[A-Za-z0-9+/=_-]{40,120}"),
    ("Aiven", r"avns_[A-Za-z0-9_-]{19,40}"),
    ("Databricks", r"dapi[a-f0-9]{32}(?:-\d)?|dkea[a-f0-9]{32}|dose[a-f0-9]{32}"),
    ("MongoDB Atlas", r"mdb_sa_sk_[A-Za-z0-9_-]{40}"),
    ("Volcengine", r"AKLT[A-Za-z0-9+/_-]{30,60}={0,2}"),
    ("Confluent", r"cflt[A-Za-z0-9+/]{60}"),
    # code and packages
    ("GitHub", r"gh[oprsu]_[A-Za-z0-9]{36,255}|ghs_\d{1,12}_eyJ[A-Za-z0-9._-]{20,1000}"),
    ("GitHub fine-grained", r"github_pat_[A-Za-z0-9_]{22,255}"),
    ("GitHub app", r"v1\.[a-f0-9]{40}"),
    ("GitLab", r"gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct|wt)-[A-Za-z0-9_.-]{16,300}"),
    ("GitLab runner", r"GR1348941[A-Za-z0-9_-]{20,22}"),
    ("GitLab session", r"_gitlab_session=[0-9a-z]{32}"),
    ("Express session", r"s%3A[A-Za-z0-9_-]{32}\.[A-Za-z0-9+/%]{43,64}"),
    ("Bitbucket", r"ATB[BC][A-Za-z0-9]{30,40}"),
    ("Atlassian", r"AT[AC]TT3[A-Za-z0-9_=-]{40,350}"),
    ("npm", r"npm_[A-Za-z0-9]{36}"),
    ("PyPI", r"pypi-[A-Za-z0-9_-]{50,1000}"),
    ("RubyGems", r"rubygems_[a-f0-9]{48}"),
    ("Clojars", r"CLOJARS_[a-z0-9]{60}"),
    ("Adafruit IO", r"aio_[A-Za-z]{4}[0-9]{2}[A-Za-z0-9]{22}"),
    ("42 Intra", r"s-s4t2(?:ud|af)-[a-f0-9]{64}"),
    ("crates.io", r"cio[A-Za-z0-9]{32}"),
    ("NuGet", r"oy2[a-z0-9]{43}"),
    ("Docker Hub", r"dckr_(?:pat|oat|jwt)_[A-Za-z0-9_-]{27,64}"),
    ("Docker Swarm", r"SWMTKN-1-[a-z0-9]{50}-[a-z0-9]{25}"),
    ("NATS", r"S[ACNOPUX][A-Z2-7]{56}"),
    ("JFrog", r"AKCp[A-Za-z0-9]{50,80}|cmVmd[A-Za-z0-9]{59}"),
    ("SonarQube", r"sq[apu]_[a-f0-9]{40}"),
    ("Snyk", r"snyk_(?:uat|sat)\.[A-Za-z0-9._-]{30,200}"),
    ("Buildkite", r"bkua_[a-z0-9]{40}"),
    ("CircleCI", r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}|CCIPRJ_[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    ("Terraform Cloud", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    ("Pulumi", r"pul-[a-f0-9]{40}"),
    ("HashiCorp Vault", r"hv[sbr]\.[A-Za-z0-9_-]{24,300}"),
    ("Doppler", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    ("Infisical", r"st\.[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}"),
    (
        "1Password",
        r"ops_eyJ[A-Za-z0-9+/]{250,}={0,3}"
        r"|A3-[A-Z0-9]{6}-[A-Z0-9]{6,11}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    ),
    ("Infracost", r"ico-[A-Za-z0-9]{32}"),
    ("Scalingo", r"tk-us-[A-Za-z0-9_-]{48}"),
    ("Prefect", r"pn[ub]_[A-Za-z0-9]{36}"),
    ("Sourcegraph", r"sg[pd]_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}"),
    ("Postman", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("ReadMe", r"rdme_[a-z0-9]{70}"),
    ("Figma", r"fig(?:d|u|o|or|ur)_[A-Za-z0-9_-]{40,60}"),
    ("Trello", r"ATTA[a-f0-9]{64}"),
    ("Linear", r"lin_(?:api|oauth)_[A-Za-z0-9]{40,70}"),
    ("Notion", r"ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43}"),
    ("Airtable", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("Asana", r"[12]/\d{12,18}(?:/\d{12,18})?:[a-f0-9]{32}"),
    ("ClickUp", r"pk_\d{6,9}_[A-Z0-9]{32}"),
    ("Contentful", r"CFPAT-[A-Za-z0-9_-]{43}"),
    ("Retool", r"retool_[a-z0-9]{24,40}"),
    ("Rootly", r"rootly_[a-f0-9]{64}"),
    ("Ghost admin", r"[a-f0-9]{24}:[a-f0-9]{64}"),
    ("Shippo", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    ("EasyPost", r"EZ[AT]K[A-Za-z0-9]{54}"),
    # language models
    ("OpenAI", r"sk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{10,160}T3BlbkFJ[A-Za-z0-9_-]{15,160}"),
    ("OpenAI and alike", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,200}|sk-[A-Za-z0-9]{32,64}"),
    ("OpenAI session", r"sess-[A-Za-z0-9]{40}"),
    ("Anthropic", r"sk-ant-[a-z]{3,8}\d{2}-[A-Za-z0-9_-]{24,120}"),
    ("OpenRouter", r"sk-or-v1-[a-f0-9]{64}"),
    ("Groq", r"gsk_[A-Za-z0-9]{48,64}"),
    ("xAI", r"xai-[A-Za-z0-9]{70,90}"),
    ("Perplexity", r"pplx-[A-Za-z0-9]{40,64}"),
    ("Together", r"tgp_v1_[A-Za-z0-9_-]{40,50}"),
    ("Fireworks", r"fw_[A-Za-z0-9]{20,30}"),
    ("Replicate", r"r8_[A-Za-z0-9]{37}"),
    ("Hugging Face", r"(?:hf|api_org)_[A-Za-z0-9]{30,40}"),
    ("LlamaCloud", r"llx-[A-Za-z0-9_-]{40,64}"),
    ("LangSmith", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}|ls__[a-f0-9]{32}"),
    ("Pinecone", r"pcsk_[A-Za-z0-9_]{50,90}"),
    ("Nvidia", r"nvapi-[A-Za-z0-9_-]{60,70}"),
    ("Anyscale", r"esecret_[a-z0-9]{20,60}"),
    ("Helicone", r"(?:sk|pk)-helicone(?:-[a-z0-9]{6,8}){4}"),
    ("RunPod", r"rpa_[A-Z0-9]{20,50}[a-z0-9]{0,10}"),
    ("Weights & Biases", r"wandb_v1_[A-Za-z0-9_-]{60,100}"),
    ("Nylas", r"nyk_v\d_[A-Za-z0-9]{40,80}"),
    ("Zuplo", r"zpka_[a-f0-9]{32}_[a-f0-9]{8}"),
    ("E2B", r"e2b_[a-f0-9]{40}"),
    ("Cerebras", r"csk-[a-z0-9]{40,60}"),
    ("Jina", r"jina_[a-f0-9]{32}[A-Za-z0-9_-]{20,40}"),
    ("Voyage", r"pa-[A-Za-z0-9_-]{43}"),
    ("Tavily", r"tvly-(?:dev-|prod-)?[A-Za-z0-9_-]{20,64}"),
    ("Firecrawl", r"fc-[a-f0-9]{32}"),
    ("Brave Search", r"BSA[A-Za-z0-9_-]{28}"),
    ("ElevenLabs", r"sk_[a-f0-9]{48}"),
    ("Langfuse", r"(?:pk|sk)-lf-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}"),
    # talk and mail
    (
        "Slack token",
        r"xox[abceoprs]-(?:\d-)?[A-Za-z0-9-]{10,250}|xapp-\d-[A-Z0-9]{8,14}-\d{8,16}-[a-f0-9]{32,80}"
        r"|xwfp-[A-Za-z0-9-]{20,100}",
    ),
    ("Slack webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,80}"),
    ("Discord webhook", r"(?:discord|discordapp)\.com/api/webhooks/\d{15,20}/[A-Za-z0-9_-]{40,80}"),
    ("Discord bot", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    ("Telegram", r"(?:bot)?\d{8,10}:AA[A-Za-z0-9_-]{32,34}"),
    ("Telnyx", r"KEY0[A-Z0-9]{31}_[A-Za-z0-9]{22}"),
    ("Twilio", r"(?:AC|SK)[a-f0-9]{32}"),
    ("SendGrid", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    ("Mailgun", r"key-[a-f0-9]{32}|[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}"),
    ("Mailchimp", r"[a-f0-9]{32}-us\d{1,2}"),
    ("Mandrill", r"md-[A-Za-z0-9_-]{22}"),
    ("Brevo", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}|xsmtpsib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("MailerSend", r"mlsn\.[a-f0-9]{64}"),
    ("Matrix", r"sy[tr]_[A-Za-z0-9+/=_-]{2,80}_[A-Za-z]{20}_[A-Za-z0-9]{6}"),
    ("Resend", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    ("MessageBird", r"live_[A-Za-z0-9]{25}"),
    ("Intercom", r"dG9rO[A-Za-z0-9+/]{50,60}={0,2}"),
    ("Typeform", r"tfp_[A-Za-z0-9_.=-]{40,64}"),
    ("HubSpot", r"pat-(?:na|eu)\d-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}"),
    ("Facebook", r"EAA[A-Za-z0-9]{40,400}"),
    ("Facebook app token", r"\d{15,17}\|[A-Za-z0-9_-]{27}"),
    ("Instagram", r"IG(?:QV|AA)[A-Za-z0-9_-]{50,300}"),
    ("Twitter bearer", r"AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{30,100}"),
    # money and shops
    ("Stripe", r"(?:sk|pk|rk|ek)_(?:live|test|prod)_[A-Za-z0-9]{16,250}"),
    ("Stripe webhook", r"whsec_[A-Za-z0-9+/=]{24,64}"),
    ("Square", r"EAAA[A-Za-z0-9_-]{56,64}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}"),
    ("PayPal Braintree", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    (
        "Adyen",
        r"AQE[a-z]h[A-Za-z0-9+/]{40,300}(?:={0,2})-[A-Za-z0-9+/=]{20,60}-[A-Za-z0-9~`!@#$%^&*()_+={}"
        r"|;:<>?,.]{8,32}",
    ),
    ("Shopify", r"shp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}"),
    ("Plaid", r"access-(?:sandbox|development|production)-[a-f0-9]{8}-[a-f0-9-]{27}"),
    ("Razorpay", r"rzp_(?:live|test)_[A-Za-z0-9]{14,24}"),
    ("Mollie", r"(?:live|test)_[A-Za-z0-9]{30,35}"),
    ("Flutterwave", r"FLW(?:SECK|PUBK)(?:_TEST)?-[A-Za-z0-9]{12,40}-X"),
    ("Paystack", r"sk_(?:live|test)_[a-f0-9]{40}"),
    ("Polar", r"polar_(?:oat|pat|sk|at)_[A-Za-z0-9]{30,70}"),
    ("Duffel", r"duffel_(?:test|live)_[A-Za-z0-9_-]{43}"),
    ("Frame.io", r"fio-u-[A-Za-z0-9_=-]{64}"),
    ("WooCommerce", r"c[ks]_[a-f0-9]{40}"),
    ("Coinbase", r"organizations/[a-f0-9-]{36}/apiKeys/[a-f0-9-]{36}"),
    # watching and measuring
    (
        "New Relic",
        r"NRAK-[A-Z0-9]{27,32}|NRJS-[a-f0-9]{19}|NRII-[A-Za-z0-9_-]{32}|NRAA-[a-f0-9]{27}"
        r"|[a-f0-9]{36}(?:NRAL|FFFFNRAL)",
    ),
    ("Grafana", r"gl(?:sa_[A-Za-z0-9]{32}_[a-f0-9]{8}|c_[A-Za-z0-9+/=]{32,400})|eyJrIjoi[A-Za-z0-9+/]{40,400}={0,2}"),
    ("Sentry", r"sntrys_[A-Za-z0-9+/=_]{40,400}|sntryu_[a-f0-9]{64}|sntrya_[a-f0-9]{64}"),
    ("Datadog tokens", r"dd(?:pat|sat|app)_[A-Za-z0-9_]{30,80}"),
    ("Datadog", r"ddp_[A-Za-z0-9]{30,40}|pub[a-f0-9]{32}"),
    ("Dynatrace", r"dt0[a-z]\d{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    ("WakaTime", r"waka_[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[a-f0-9]{4}-[a-f0-9]{12}"),
    ("Logfire", r"pylf_v\d_[a-z]{2}_[A-Za-z0-9]{30,60}"),
    ("PostHog", r"ph[cxsr]_[A-Za-z0-9]{40,64}"),
    ("Honeycomb", r"hc(?:aik|bik|xik|amk)_[a-z0-9]{56,64}"),
    ("LaunchDarkly", r"(?:api|sdk|mob)-[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[a-f0-9]{4}-[a-f0-9]{12}"),
    ("PagerDuty", r"pdus\+_[A-Za-z0-9_-]{20,50}"),
    ("Mapbox", r"[ps]k\.eyJ[A-Za-z0-9_-]{40,200}\.[A-Za-z0-9_-]{20,40}"),
    # identity and the rest
    ("Clerk", r"(?:sk|pk)_(?:live|test)_[A-Za-z0-9+/=]{20,80}"),
    ("Salesforce session", r"00D[A-Za-z0-9]{9,15}![A-Za-z0-9._]{60,200}"),
    ("Salesforce consumer", r"3MVG[A-Za-z0-9._-]{60,120}"),
    ("Dropbox", r"sl\.[A-Za-z0-9_=-]{80,200}|[A-Za-z0-9]{11}AAAAAAAAAA[A-Za-z0-9_=-]{43}"),
    ("age", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    ("PASETO", r"v[1234]\.(?:local|public)\.[A-Za-z0-9_-]{32,2000}(?:\.[A-Za-z0-9_-]{1,400})?"),
    ("minisign and signify", r"RWR(?:TY0Iy|CSw)[A-Za-z0-9+/]{120,400}={0,2}"),
    ("Django, startproject", r"django-insecure-[a-z0-9!@#$%^&*(=_+)-]{50}"),
    ("Tailscale", r"tskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9]{8,20}(?:-[A-Za-z0-9]{20,40})?"),
    ("ngrok", r"[12][A-Za-z0-9]{26}_[0-9][A-Za-z0-9]{20}"),
    ("RapidAPI", r"[a-f0-9]{10}msh[a-f0-9]{15}p[a-f0-9]{6}jsn[a-f0-9]{12}"),
    ("Apify", r"apify_api_[A-Za-z0-9]{30,50}"),
    ("Zapier webhook", r"hooks\.zapier\.com/hooks/catch/\d{4,12}/[a-z0-9]{5,20}"),
    ("IFTTT", r"maker\.ifttt\.com/trigger/[a-z_]{2,40}/with/key/[A-Za-z0-9_-]{20,50}"),
    ("Ory", r"ory_(?:at|rt|ac|st|pat|wak|apikey)_[A-Za-z0-9_.-]{30,200}"),
    ("K3s", r"K10[a-f0-9]{64}::[a-z]{3,16}:[A-Za-z0-9]{16,80}"),
    ("Nostr", r"nsec1[ac-hj-np-z02-9]{58}"),
    ("Bitcoin extended key", r"[xyz]prv[A-HJ-NP-Za-km-z1-9]{105,110}"),
    ("JSON web token", r"ey[JI][A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}"),
)  # fmt: skip
"""(vendor, pattern in the common syntax of `re` and RE2); alternatives at the outermost level are separate forms."""

INNER_MARKS: dict[str, str] = {
    "Azure AI and DevOps": "JQQJ99[A-Za-z0-9+/]{20}",
    "Azure DevOps": "AZDO[A-Za-z0-9]{4}",
    "Azure storage": r"\+ASt[A-Za-z0-9+/]{6}==",
    "Azure Entra client secret": "[0-9]Q~[A-Za-z0-9_~.-]{31}",
    "Google OAuth client": r"\.apps\.googleusercontent\.com",
    "Terraform Cloud": r"\.atlasv1\.[A-Za-z0-9_=-]{60}",
    "Discord bot": r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
    "Ghost admin": "[a-f0-9]{24}:[a-f0-9]{24}",
    "Telegram": "[0-9]:AA[A-Za-z0-9_-]{32}",
    "Mailgun": "-[a-f0-9]{8}-[a-f0-9]{8}",
    "Mailchimp": "[a-f0-9]{16}-us[0-9]",
    "Facebook app token": r"[0-9]{15}\|[A-Za-z0-9_-]{27}",
    "New Relic": "[a-f0-9]{16}(?:FFFF)?NRAL",
    "Dropbox": "A{10}[A-Za-z0-9_=-]{43}",
    "ngrok": "_[0-9][A-Za-z0-9]{20}",
    "RapidAPI": "[0-9a-f]msh[0-9a-f]{15}p",
}
"""{vendor: pattern of a distinctive part} for the patterns that begin with no literal prefix."""


# ----------------------------------------------------------------------------------------------------
# Patterns of password hashes, from which passwords can be tried out. Data only; `secret_tokens` searches for them.
#
# Sources: crypt(5) of libxcrypt, the PHC string format, RFC 2307 and RFC 5803 (LDAP), the documentation of Django,
# Werkzeug, phpass, Cisco and Juniper; read 2026-11-22. A `$` may be doubled, as Compose files write it.
_B64 = "[A-Za-z0-9+/]"
_CRYPT = "[A-Za-z0-9./]"

HASHES: tuple[tuple[str, str], ...] = (
    ("crypt MD5", rf"\$(?:1|apr1)\$\$?{_CRYPT}{{1,8}}\$\$?{_CRYPT}{{22}}"),
    ("crypt SHA-256", rf"\$5\$\$?(?:rounds=\d{{1,9}}\$)?{_CRYPT}{{1,16}}\$\$?{_CRYPT}{{43}}"),
    ("crypt SHA-512", rf"\$6\$\$?(?:rounds=\d{{1,9}}\$)?{_CRYPT}{{1,16}}\$\$?{_CRYPT}{{86}}"),
    ("bcrypt", rf"\$2[abxy]?\$\$?\d\d\$\$?{_CRYPT}{{53}}"),
    ("yescrypt", rf"\$g?y\${_CRYPT}{{2,16}}\${_CRYPT}{{1,86}}\${_CRYPT}{{43}}"),
    ("scrypt", rf"\$7\${_CRYPT}{{11,97}}\${_CRYPT}{{43}}"),
    ("PHC", r"\$(?:argon2(?:id|i|d)|scrypt|pbkdf2(?:-sha\d+)?"
        r"|bcrypt-sha256)\$[a-zA-Z0-9=,$-]{1,60}\$[A-Za-z0-9+/.]{6,128}\$[A-Za-z0-9+/.]{16,256}"),
    ("crypt SHA-1", rf"\$sha1\$\d{{1,9}}\${_CRYPT}{{1,64}}\${_CRYPT}{{28}}"),
    ("phpass", rf"\$[PH]\${_CRYPT}{{31}}"),
    ("Drupal", rf"\$S\${_CRYPT}{{52}}"),
    ("Cisco 8 and 9", rf"\$[89]\${_CRYPT}{{14}}\${_CRYPT}{{43}}"),
    ("Juniper", r"\$9\$[A-Za-z0-9./-]{20,120}"),
    ("Mosquitto", rf"\$[67]\$(?:\d{{1,7}}\$)?{_B64}{{12,20}}={{0,2}}\${_B64}{{86}}=="),
    ("Django", rf"(?:pbkdf2_sha(?:1|256|512)|scrypt|argon2)\$[a-zA-Z0-9=,$_+/-]{{1,90}}\${_B64}{{22,88}}={{0,2}}"),
    ("Django bcrypt", rf"bcrypt(?:_sha256)?\$\$2[ab]\$\d\d\${_CRYPT}{{53}}"),
    ("Werkzeug", r"(?:scrypt:\d{1,8}:\d{1,3}:\d{1,3}|pbkdf2:sha(?:1|256"
        r"|512)(?::\d{1,8})?)\$[A-Za-z0-9./]{4,64}\$[a-f0-9]{40,128}"),
    ("SCRAM", rf"SCRAM-SHA-(?:1|256|512)\$\d{{1,8}}:{_B64}{{8,88}}={{0,2}}\${_B64}{{27,88}}={{0,2}}"
        rf":{_B64}{{27,88}}={{0,2}}"),
    ("LDAP", r"\{(?:S?SHA(?:256|384|512)?|SMD5|PBKDF2[A-Z0-9-]{0,8}|ssha(?:256|512)?)\}[A-Za-z0-9+/.$]{24,256}={0,2}"),
)  # fmt: skip
"""(scheme, pattern in the common syntax of `re` and RE2), as the table of vendors."""


# ----------------------------------------------------------------------------------------------------
# The literal prefixes of a regular expression: those of `gh[op]_[A-Z]{36}` are `gho_` and `ghp_`. Pure.
#
# Used to search a text for all prefixes at once and to match a pattern only where one is found. Naive form: search
# the
# text for each pattern, which finds the same; a test compares them. Parses only the part of the regular expression
# language that `vendor_tokens` uses, and ends a prefix at the first element that is not a fixed spelling.
_MAX_PREFIXES = 64
"""Chosen: prefixes of one pattern; an element that would multiply them beyond this ends them. Few forms of the table
come near it; at half some prefixes would be shorter and match more often by chance, at double the automaton grows."""
_MAX_CHOICES = 8
"""Chosen: members of a character class that are listed as alternatives, for the same reason."""
_MAX_PREFIX_CHARS = 8
"""Chosen: longer prefixes are cut: eight characters are hardly ever met by chance, and more make a larger automaton."""


def literal_prefixes(form: str) -> list[str]:
    """The prefixes of which every match of the pattern `form` has one; `[""]` when it begins with no fixed spelling."""
    return [prefix for prefix, _ in _prefixes(form)]


def _prefixes(form: str) -> list[tuple[str, bool]]:
    """(prefix, whether it is the whole of the alternative) for each alternative of `form`."""
    prefixes: list[tuple[str, bool]] = []
    for alternative in alternatives(form):
        prefixes += _sequence_prefixes(alternative)
    return prefixes


def _sequence_prefixes(form: str) -> list[tuple[str, bool]]:
    """As `_prefixes`, for a pattern without alternatives on its outermost level."""
    growing, complete = [""], True
    ended: list[str] = []
    index = 0
    while index < len(form) and complete:
        choices, index = _element(form, index)
        optional = form[index : index + 1] == "?"
        repeated = form[index : index + 1] in ("*", "+", "{")
        if choices is None or repeated or len(growing) * len(choices) > _MAX_PREFIXES:
            complete = False
            break
        index += optional
        grown = [(prefix + choice, whole) for prefix in growing for choice, whole in choices]
        ended += [prefix for prefix, whole in grown if not whole or len(prefix) >= _MAX_PREFIX_CHARS]
        growing = [prefix for prefix, whole in grown if whole and len(prefix) < _MAX_PREFIX_CHARS] + (
            growing if optional else []
        )
        complete = bool(growing)
    return [(prefix, False) for prefix in ended] + [(prefix, complete) for prefix in growing]


def _element(form: str, index: int) -> tuple[list[tuple[str, bool]] | None, int]:
    """The spellings of the element at `index` (None when they cannot be listed) and where it ends."""
    char = form[index]
    if char == "\\":
        fixed = not form[index + 1].isalnum()
        return ([(form[index + 1], True)] if fixed else None), index + 2
    if char == "[":
        end = form.index("]", index)
        chars = form[index + 1 : end]
        can_list = "-" not in chars and len(chars) <= _MAX_CHOICES
        return ([(each, True) for each in chars] if can_list else None), end + 1
    if char == "(":
        end = _closing_bracket(form, index)
        return _prefixes(form[index + 3 : end]), end + 1
    return ([(char, True)] if char not in ".^$" else None), index + 1


def _closing_bracket(form: str, index: int) -> int:
    depth = 0
    for offset in _operator_indexes(form, index):
        depth += {"(": 1, ")": -1}.get(form[offset], 0)
        if depth == 0:
            return offset
    raise ValueError(f"no closing bracket in the pattern {form!r}")


def _operator_indexes(form: str, start: int) -> list[int]:
    """Indexes from `start` on whose characters are neither escaped nor inside a character class."""
    indexes, in_class = [], False
    while start < len(form):
        if form[start] == "\\":
            start += 2
            continue
        if not in_class:
            indexes.append(start)
        in_class = form[start] == "[" if not in_class else form[start] != "]"
        start += 1
    return indexes


def alternatives(form: str) -> list[str]:
    """The alternatives of the pattern's outermost level, in order."""
    parts, depth, begin = [], 0, 0
    for index in _operator_indexes(form, 0):
        depth += {"(": 1, ")": -1}.get(form[index], 0)
        if form[index] == "|" and depth == 0:
            parts.append(form[begin:index])
            begin = index + 1
    return [*parts, form[begin:]]


MIN_WORD_CHARS = 16
"""The shortest token of the table (Alibaba Cloud); shorter matches are words that only begin like one."""
_WORD_CHARS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=.:|!~%$@&?#,")
_CLASS = bytes(0x74 if code in _WORD_CHARS else 0x20 for code in range(256))
_DIGIT_OR_UNDERSCORE = re.compile(rb"[0-9_]")
_MIN_PREFIX_CHARS = 2
"""Patterns with a shorter prefix are match by their inner mark: one character matches everywhere."""
_MAX_TOKEN_CHARS = 4096
"""Chosen: characters matched from a prefix on; longer tokens are not mark. At half long JSON web tokens are lost; at
double a text of prefixes costs more than is charged for it."""
_BEFORE_MARK_CHARS, _BEHIND_MARK_CHARS = 128, 384
"""Chosen: characters beside an inner mark that are searched. Azure storage has 76 before its mark, so at half it is
lost; at double each mark costs twice as much."""


def _without_upper_bound(repeat: re.Match[str]) -> str:
    """Remove a pattern's upper bound at its end: vendors lengthen their keys, and the word's end bounds the match
    too."""
    least, most = int(repeat[1]), int(repeat[2])
    return f"{{{least},}}" if most - least >= 12 else repeat[0]


_FORMS = tuple(
    (name, re.sub(r"\{(\d+),(\d+)\}(?=$|\)|=\{)", _without_upper_bound, form))
    for name, forms in (*VENDORS, *HASHES)
    for form in alternatives(forms)
)
_PREFIXED = tuple(
    (prefix, form)
    for _, form in _FORMS
    if min(map(len, literal_prefixes(form))) >= _MIN_PREFIX_CHARS
    for prefix in literal_prefixes(form)
)
_PREFIX = re2.compile(
    (
        "(?:^|[^A-Za-z0-9])(?:"
        + "|".join(re.escape(prefix) for prefix in sorted({prefix for prefix, _ in _PREFIXED}))
        + ")"
    ).encode()
)
_FIND_PREFIX = searcher(_PREFIX)
_MARKED = tuple(
    (re.compile(INNER_MARKS[name].encode()), form)
    for name, form in _FORMS
    if min(map(len, literal_prefixes(form))) < _MIN_PREFIX_CHARS
)
_MARK = re2.compile("|".join(sorted(set(INNER_MARKS.values()))).encode())
_FIND_MARK = searcher(_MARK)
_KEY_BODY = re.compile(
    rb"-----BEGIN (?:(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?|OpenVPN [A-Za-z0-9 -]{1,30})-----"
    rb"(?:[A-Za-z0-9+/=]{1,200}(?![A-Za-z0-9-])|[:,-]|\s|\\n|\\r)*+"
)
_KEY_END = re.compile(rb"-----END (?:(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?|OpenVPN [A-Za-z0-9 -]{1,30})-----")
_WHOLE_ROW = re.compile(rb"[A-Za-z0-9+/]{32,76}={0,2}[ \t\r]{0,4}")
_KEY_ROW = re.compile(rb"[A-Za-z0-9+/=]{16}")
_MAX_KEY_CHARS = 16_384
"""Chosen: twice the longest key that a stream holds back. At half an 8192-bit RSA key with long headers may not end in
it; at double texts of BEGIN lines cost more."""
_PART = re.compile(rb"[A-Za-z0-9_.-]{2,200}(?<![.-])")
_IS_PLAIN = re.compile(rb"[A-Za-z]?[a-z.-]{1,40}|[A-Z-]{1,40}|[0-9.-]{1,40}")
_HEAD_CHARS, _MAX_BREAKS = 12, 6
_BREAK = re.compile(
    rb" {0,3}\r?\n {0,8}| (?=[^ ])|(</?(?:wbr|b|i|u|em|mark|strong|span|code|font)(?: [^<>\n]{0,60})?/?>|\*\*|`)"
)
"""What may stand inside a token: the end of a line, or (the group) a tag or mark of a single word."""
_NOT_SEARCHED = -2
_LETTERS_ONLY = (b"SG.", b"AKIA", b"ASIA", b"ABIA", b"ACCA")
"""Prefixes that no word has, behind which all characters may be letters."""
_AWS_IDS = (b"AKIA", b"ASIA")
_AWS_SECRET = re.compile(
    rb"[\"']?(?:\t[0-9T:+Z-]{10,30}(?=\t))?"
    rb"(?:[ \t]{0,3}[:,;|][ \t]{0,3}|[ \t]{1,3})[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"
)
"""A secret access key right behind its id, as in a console's export and in `.passwd-s3fs`."""
_FILLER = re.compile(rb"x{5}|X{5}|(?<![A-Za-z])(?:your|Your|YOUR)|(?i:placeholder)")
"""A placeholder for a token in documentation, with the maker's prefix. Shorter rows and letters of both cases come in
random tokens (one in 1,000)."""
_MIN_DIFFERENT = 8
"""Chosen: 24 random hexadecimal characters have 12.5 different ones on average, rarely fewer than eight. At half
`aaaabbbbcccc` is certain; at double hexadecimal tokens never are."""


def find_secret_tokens(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity SECRET, in folded offsets; private keys first. Raises BudgetExceeded."""
    text = view.folded
    if b"-----BEGIN" in text:
        yield from _find_private_keys(text, budget)
    if b"PRIVATE KEY-----" in text:
        yield from _find_headless_keys(text, budget)
    matches = [*_find_prefixed(text, budget), *_find_marked(text, budget)]
    for start, end in matches:
        while text[end : end + 1] == b"=":
            end += 1
        if _is_in_token_word(text, start, end):
            value = text[start:end]
            if not is_published_secret(value) and not _FILLER.search(value):
                certain = not is_publishable(value) and _is_drawn_at_random(value)
                yield Finding(start, end, "SECRET", certain)
                beside = _AWS_SECRET.match(text, end) if value.startswith(_AWS_IDS) else None
                if (
                    beside is not None
                    and not is_published_secret(beside.group(1))
                    and has_high_entropy(beside.group(1))
                ):
                    yield Finding(*beside.span(1), "SECRET")


def _find_prefixed(text: bytes, budget: WorkBudget) -> Iterator[tuple[int, int]]:
    """Spans of tokens whose pattern has a literal prefix."""
    at = 0
    while True:
        start, end = _FIND_PREFIX(text, at)
        if start < 0:
            return
        if not text[start : start + 1].isalnum():
            start += 1
        at = end - 1  # the last character may be the one before the next prefix
        budget.spend(15)
        pattern = _patterns_with(text[start:end])
        match = pattern.match(text, start, start + _MAX_TOKEN_CHARS)
        if match is not None:
            yield match.span()
            at = max(at, match.end() - 1)
        elif (broken_end := _end_of_broken(text, start, pattern, budget)) > 0:
            yield start, broken_end
            at = max(at, broken_end - 1)


def _end_of_broken(text: bytes, start: int, pattern: re.Pattern[bytes], budget: WorkBudget) -> int:
    """Where a token ends that the end of a line or the tags of single words break into parts; 0 when there is none.

    The lines of a PDF may be joined by a blank. The parts together have the maker's form, the longest one is a long
    word, and behind a blank or line end stands no name or word.
    """
    head = text[start : start + _HEAD_CHARS]
    if head.islower() and _DIGIT_OR_UNDERSCORE.search(head) is None:
        return 0  # words that begin like a token, which most are
    part = _PART.match(text, start)
    token, longest = part.group() if part else b"", 0
    for _ in range(_MAX_BREAKS):
        gap = _BREAK.match(text, part.end()) if part else None
        longest = max(longest, len(part.group()) if part else 0)
        part = _PART.match(text, gap.end()) if gap else None
        if gap is None or part is None:
            return 0
        budget.spend(8)
        if gap.lastindex is None and (_IS_PLAIN.fullmatch(part.group()) or is_identifier(part.group())):
            return 0
        token += part.group()
        if pattern.fullmatch(token) is not None:
            is_long = gap.lastindex is not None or max(longest, len(part.group())) >= MIN_WORD_CHARS
            return part.end() if is_long and _is_drawn_at_random(token) else 0
    return 0


@lru_cache(1024)
def _patterns_with(prefix: bytes) -> re.Pattern[bytes]:
    """One pattern of all those that can match where `prefix` is match."""
    name = prefix.decode()
    forms = {form: None for each, form in _PREFIXED if each.startswith(name) or name.startswith(each)}
    return _compile("|".join(forms))


@lru_cache(64)
def _compile(form: str) -> re.Pattern[bytes]:
    return re.compile(f"(?<![A-Za-z0-9])(?:{form})(?![A-Za-z0-9])".encode())


@lru_cache(64)
def _linear_pattern(form: str) -> Pattern:
    return re2.compile(f"(?:^|[^A-Za-z0-9])({form})(?:[^A-Za-z0-9]|$)".encode())


def _find_marked(text: bytes, budget: WorkBudget) -> Iterator[tuple[int, int]]:
    """Spans of tokens whose pattern has no literal prefix, but a mark inside."""
    last_end = 0
    for place, _ in spans(_FIND_MARK, text):
        if place < last_end:
            continue
        low = max(0, place - _BEFORE_MARK_CHARS, last_end)
        budget.spend(16)
        for mark, form in _MARKED:
            if mark.match(text, place) is None:
                continue
            budget.spend(8)
            match = _linear_pattern(form).search(text, low, place + _BEHIND_MARK_CHARS)
            if match is not None and match.end(1) > place:
                yield match.span(1)
                last_end = match.end(1)
                break


def _is_in_token_word(text: bytes, start: int, end: int) -> bool:
    """Whether the word around [start, end) is long enough for a key and has a digit or `_`, which plain words have
    not."""
    low, high = max(0, start - 64), end + 64
    classes = text[low:high].translate(_CLASS)
    first = classes.rfind(b" ", 0, start - low) + 1 + low
    last = classes.find(b" ", end - low)
    last = high if last < 0 else last + low
    return last - first >= MIN_WORD_CHARS and (
        (_DIGIT_OR_UNDERSCORE.search(text, first, last) is not None and not _is_of_words(text[start:end]))
        or text.startswith(_LETTERS_ONLY, start)
        or _has_odd_capitals(text[start:end])
    )


def _is_of_words(token: bytes) -> bool:
    """Whether a token without digits is a name that begins like one: `test_interpolationmissingoptionerror`."""
    letters = token.replace(b"_", b"")
    return letters.isalpha() and (
        (letters.islower() and len(set(letters)) >= _MIN_DIFFERENT)
        or (not letters.islower() and is_program_name(token.rpartition(b"_")[2]))
    )


def _has_odd_capitals(token: bytes) -> bool:
    """Whether small and capital letters are mixed in another way than in the names that people make of words."""
    return not token.islower() and not token.isupper() and (is_random(token) or not is_identifier(token))


def _is_drawn_at_random(token: bytes) -> bool:
    """Whether the token may have come from a maker's generator: at least eight different characters in its last 24, and
    no row of five that count up (`12345`, `abcde`) or are the same."""
    tail = token[-24:]
    if len(set(tail)) < _MIN_DIFFERENT:
        return False
    steps = bytes((second - first) & 0xFF for first, second in pairwise(tail))
    return b"\x01\x01\x01\x01" not in steps and b"\0\0\0\0" not in steps


def _find_headless_keys(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """The rows above `-----END … PRIVATE KEY-----` where the text was cut and the line BEGIN is not in it."""
    at = text.find(b"-----END")
    while at >= 0:
        budget.spend(16)
        first, row_end = at, at - 1
        while row_end > max(0, at - _MAX_KEY_CHARS):
            row_start = text.rfind(b"\n", max(0, row_end - 100), row_end) + 1
            if not _WHOLE_ROW.fullmatch(text, row_start, row_end):
                break
            first, row_end = row_start, row_start - 1
            budget.spend(6)
        closing = _KEY_END.match(text, at) if first < at else None
        if closing is not None and not text.startswith(b"-----BEGIN", text.rfind(b"\n", 0, max(0, first - 1)) + 1):
            yield Finding(first, closing.end(), "SECRET")
        at = text.find(b"-----END", at + 8)


def _find_private_keys(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """Private keys from BEGIN to END; without an END line, as far as the characters of keys follow."""
    at, closing_at = text.find(b"-----BEGIN"), _NOT_SEARCHED
    while at >= 0:
        body = _KEY_BODY.match(text, at, at + _MAX_KEY_CHARS)
        budget.spend(16)
        end = at + 10
        if body is not None:
            if closing_at == _NOT_SEARCHED or 0 <= closing_at < at:
                closing_at = text.find(b"-----END", at)
            closing = _KEY_END.match(text, closing_at) if at < closing_at < at + _MAX_KEY_CHARS else None
            end = closing.end() if closing else body.end()
            while text[end - 1] in b" \t\r\n":
                end -= 1
            # a listing of `-----BEGIN …-----` lines, or a key left out as `...`, has no row of base64
            if _KEY_ROW.search(text, at + len(b"-----BEGIN PRIVATE KEY-----"), end) or body.end() >= len(text):
                yield Finding(at, end, "SECRET")
        at = text.find(b"-----BEGIN", end)
