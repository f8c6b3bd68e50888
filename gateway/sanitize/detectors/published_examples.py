"""Values that documentation publishes as examples: no findings, as nobody can use them. Data, and tests for equality.

Each row names its source and how it was compared on 2026-11-22: "the page" is a stored copy of the maker's own page,
"quoted" are lists in public repositories that name that page and hold the values of the row; of the rows of secrets
(RFCs, Google, AWS, Stripe, GitHub) the first values were looked up, not each. Account
numbers were compared with the SWIFT IBAN registry (as quoted in the tests of python-stdnum and of a Rust validator,
registry release 101). Card and account numbers are written without separators; secrets are compared whole. A value that
only looks like an example (`your-api-key`) is a placeholder: see `named_secrets`."""

import base64
import binascii

_CARDS: tuple[tuple[str, str], ...] = (
    (
        "Stripe, docs.stripe.com/testing, the page",
        "4242424242424242 4000056655665556 5555555555554444 2223003122003222 5200828282828210"
        " 5105105105105100 378282246310005 371449635398431 6011111111111117 6011000990139424 6011981111111113"
        " 3566002020360505 3530111333300000 30569309025904 38520000023237 4012888888881881 4000002760003184",
    ),
    (
        "Stripe, docs.stripe.com/testing, quoted",
        "3056930009020004 36227206271667 6555900000604105 6200000000000005 6200000000000047"
        " 6205500000000000004 4000000000000002 4000000000009995 4000000000009987 4000000000009979"
        " 4000000000000069 4000000000000127 4000000000000119 4000002500003155 4000003800000446"
        " 4000000000003220 4000000000003063 4000000000003055 4000000000000077 4000000000000259"
        " 4000000000000341 4000008400001629 4000008260000000 4000002760000016 4000000360000006"
        " 4000001240000000 4000003920000003 4000000760000002 4000002500000003 4000003560000008"
        " 4000007840000001 5200007840000022",
    ),
    (
        "Braintree, developer.paypal.com/braintree/docs/reference/general/testing, the page and quoted",
        "4111111111111111 4005519200000004 4009348888881881 4012000033330026 4012000077777777 4217651111111119"
        " 4500600000000061 4000111111111115 2223000048400011 378734493671000 6011000991300009 36259600000004"
        " 6304000000000000",
    ),
    (
        "PayPal, paypalobjects.com, credit_card_numbers.htm, quoted",
        "5610591081018250 4222222222222 5019717010103742 6331101999990016",
    ),
    (
        "Adyen, docs.adyen.com/point-of-sale/testing-pos-payments/test-card-v2, the page",
        "5413330089099999 5100060000000002 5520330000000001 6243030000000001 2308880000000000 4151500000000008",
    ),
    (
        "Adyen, docs.adyen.com/development-resources/test-cards-and-credentials/test-card-numbers, quoted",
        "370000000000002 370000000100018 6703444444444449 6703000000000000003 4035501000000008 4360000001000005"
        " 8171999927660000 8171999900000000021 6250947000000014 6250946000000016 5019555544445555"
        " 36006666333344 36070500001020 6011601160116611 6445644564456445 5066991111111118 6062828888666688"
        " 3569990010095841 6771798021000008 6771798025000004 5101180000000007 2222400070000005"
        " 5100290029002909 5555341244441115 5577000055770004 5136333333333335 5585558555855583"
        " 5555444433331111 2222410740360010 2222410700000002 2222400010000008 2223000048410010"
        " 2222400060000007 2223520443560010 5500000000000004 2222400030000004 5100705000000002"
        " 5103221911199245 5424000000000015 2222400050000009 5106040000000008 135410014004955"
        " 4111111145551142 4988438843884305 4166676667666746 4646464646464644 4000620000000007"
        " 4000060000000006 4293189100000008 4988080000000000 4444333322221111 4001590000000001"
        " 4000180000000002 4000020000000000 4000160000000004 4002690000000008 4400000000000008"
        " 4484600000000004 4607000000000009 4977949494949497 4000640000000005 4003550000000003"
        " 4000760000000001 4017340000000003 4005519000000006 4131840000000003",
    ),
    (
        "Worldpay, test card numbers, quoted",
        "4911830000000 4917610000000000 4917610000000000003 4462030000000000 4917300800000000 4484070000000000"
        " 5454545454545454",
    ),
    (
        "Mastercard Payment Gateway Services and Global Payments, test cards, quoted",
        "5123450000000008 2223000000000007 4508750015741019 5425233430109903 2222420000001113 4263982640269299",
    ),
    (
        "numbers that many projects' tests share, without one page that first had them",
        "2222405343248877 2222990905257051 2223007648726984 2223577120017656 5500005555555559 6362970000457013"
        " 6731012345678906",
    ),
)  # fmt: skip
CARDS = frozenset(number.encode() for _, numbers in _CARDS for number in numbers.split())
"""Card numbers for tests."""

_IBANS: tuple[tuple[str, str], ...] = (
    (
        "ISO 13616 and Wikipedia (International Bank Account Number)",
        "GB82WEST12345698765432",
    ),
    (
        "SWIFT IBAN registry, the example of each country",
        "AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 AT611904300234573201"
        " AZ21NABZ00000000137010001944 BA391290079401028494 BE68539007547034 BG80BNBG96611020345678"
        " BH67BMAG00001299123456 BR1800360305000010009795493C1 BR9700360305000010009795493P1"
        " BY13NBRB3600900000002Z00AB00 CH9300762011623852957 CR05015202001026284066"
        " CY17002001280000001200527600 CZ6508000000192000145399 DE89370400440532013000 DK5000400440116243"
        " DO28BAGR00000001212453611324 EE382200221020145685 EG380019000500000000263180002"
        " ES9121000418450200051332 FI2112345600000785 FO6264600001631634 FR1420041010050500013M02606"
        " GB29NWBK60161331926819 GE29NB0000000101904917 GI75NWBK000000007099453 GL8964710001000206"
        " GR1601101250000000012300695 GT82TRAJ01020000001210029690 HR1210010051863000160"
        " HU42117730161111101800000000 IE29AIBK93115212345678 IL620108000000099999999 IQ98NBIQ850123456789012"
        " IS140159260076545510730339 IT60X0542811101000000123456 JO94CBJO0010000000000131000302"
        " KW81CBKU0000000000001234560101 KZ86125KZT5004100100 LB62099900000001001901229114"
        " LI21088100002324013AA LT121000011101001000 LU280019400644750000 LV80BANK0000435195001"
        " MC5811222000010123456789030 MD24AG000225100013104168 ME25505000012345678951 MK07250120000058984"
        " MR1300020001010000123456753 MT84MALT011000012345MTLCAST001S MU17BOMM0101101030300200000MUR"
        " NL91ABNA0417164300 NO9386011117947 PK36SCBL0000001123456702 PL61109010140000071219812874"
        " PS92PALS000000000400123456702 PT50000201231234567890154 QA58DOHB00001234567890ABCDEFG"
        " RO49AAAA1B31007593840000 RS35260005601001611379 SA0380000000608010167519 SE4550000000058398257466"
        " SI56263300012039086 SK3112000000198742637541 SM86U0322509800000000270100 TN5910006035183598478831"
        " TR330006100519786457841326 UA213223130000026007233566001 VA59001123000012345678"
        " VG96VPVG0000012345678901 XK051212012345678906",
    ),
)  # fmt: skip
IBANS = frozenset(number for _, numbers in _IBANS for number in numbers.split())
"""Bank account numbers for tests, in capitals without separators."""

_SECRETS: tuple[tuple[str, str], ...] = (
    (
        "AWS, IAM User Guide, quoted",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
    ),
    (
        "OpenSSL, include/openssl/fipskey.h: the public key of the FIPS module's integrity check",
        "f4556650ac31d35461610bac4ed81b1a181b2d8a43ea2854cbae22ca74560813",
    ),
    (
        "Stripe, API reference, quoted",
        "sk_test_4eC39HqLyjWDarjtT1zdp7dc sk_test_BQokikJOvBiI2HlWgH4olfQ2 pk_test_TYooMQauvdEDq54NiTphI7jx",
    ),
    (
        "GitHub, REST documentation, quoted",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a gho_16C7e42F292c6912E7710c838347Ae178B4a",
    ),
    (
        "Google, Charts and Maps documentation, quoted",
        "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe",
    ),
    (
        "RFC 6749, RFC 6750, quoted",
        "2YotnFZFEjr1zCsicMWpAA tGzv3JOkF0XG5Qx2TlKWIA mF_9.B5f-4.1JqM czZCaGRSa3F0MzpnWDFmQmF0M2JW"
        " 7Fjfp0ZBr1KtDRbnfVdmIw gX1fBat3bV SplxlOBeZQQYbYS6WxSbIA",
    ),
    (
        "RFC 5849, quoted",
        "dpf43f3p2l4k3l03 kd94hf93k423kf44 ad180jjd733klru7 0685bd9184jfhq22 j49sk3j29djd dh893hdasih9"
        " hh5s93j4hdidpola hdhd0244k9j7ao03 nnch734d00sl2jdk pfkkdhi9sl3r4s00 9djdj82h48djs9d2"
        " kkk9d7dh3k39sjv7 bYT5CMsGcbgUdFHObYMEfcx6bsw=",
    ),
    (
        "RFC 7519, RFC 7515",
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9"
        "leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    ),
    (
        "jwt.io",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE"
        "2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    ),
    (
        "BIND 9.18, administrator reference, the page",
        "DAopyf1mhCbFVZw7pgmNPBoLUq8wEUT7UuPoLENP2HY=",
    ),
)  # fmt: skip
SECRETS = frozenset(value.encode() for _, values in _SECRETS for value in values.split())
"""Keys and tokens that documentation prints."""
_EXAMPLE_MARK = b"EXAMPLE"
"""The word that AWS puts into every key it publishes (IAM User Guide)."""

_LOGINS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("RFC 7617, RFC 2617", ("aladdin:open sesame", "aladdin:open%20sesame", "mufasa:circle of life")),
    ("Oracle's sample account, and all who quote it", ("scott:tiger",)),
    ("the first login of RabbitMQ, PostgreSQL, MinIO", ("guest:guest", "postgres:postgres", "minioadmin:minioadmin")),
)
_LOGIN_PAIRS = frozenset(login for _, logins in _LOGINS for login in logins)

IDS = frozenset(("078051120", "219099999", "QQ123456C", "QQ123456A", "AB123456C", "111223333"))
"""The Social Security Administration's examples (ssa.gov/history/ssn/misused.html), HMRC's (NIM39110) and pyparsing's,
without separators."""


def is_published_secret(value: bytes) -> bool:
    """Whether a key or token is in the table, or has AWS's mark in it."""
    return _EXAMPLE_MARK in value or value in SECRETS


def is_published_login(user: bytes, password: bytes) -> bool:
    """Whether `user:password` is one of the published pairs, in any case."""
    return f"{user.decode('ascii', 'replace')}:{password.decode('ascii', 'replace')}".lower() in _LOGIN_PAIRS


def is_published_basic(value: bytes) -> bool:
    """Whether base64 of a `user:password` (RFC 7617) hides a published pair or `user:password` itself."""
    try:
        user, colon, password = base64.b64decode(value + b"=" * (-len(value) % 4)).partition(b":")
    except (binascii.Error, ValueError):
        return False
    lower = password.lower()
    return bool(colon) and (
        is_published_login(user, password) or lower in (b"password", b"pass", b"passwd", b"pwd", b"secret")
    )
