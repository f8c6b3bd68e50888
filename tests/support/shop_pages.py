"""Pages of goods in the typical markup of shop systems, written for the tests: no page of them was trained on.

Each is (address, markup, texts that are content, texts that are none).
"""

import json

SitePage = tuple[str, str, tuple[str, ...], tuple[str, ...]]

_FOOT = (
    '<footer class="site-footer"><div class="footer-block"><h2>Customer care</h2><ul><li><a href="/r">Returns policy'
    '</a></li><li><a href="/f">Frequently asked questions</a></li></ul></div><p>© 2026 Northlight Goods Ltd.</p></footer>'
)


def _page(title: str, head: str, body: str) -> str:
    return f'<!DOCTYPE html><html lang="en"><head><title>{title}</title>{head}</head>{body}</html>'


def _ld(data: dict[str, object]) -> str:
    return f'<script type="application/ld+json">{json.dumps({"@context": "https://schema.org", **data})}</script>'


SHOPIFY_PRODUCT: SitePage = (
    "https://northlight.test/products/harbour-lantern",
    _page(
        "Harbour Lantern – Northlight Goods",
        '<meta property="og:type" content="product"><meta property="og:price:amount" content="48.00">'
        '<meta property="og:price:currency" content="EUR">'
        + _ld({"@type": "Product", "name": "Harbour Lantern", "offers": {"price": "48.00", "priceCurrency": "EUR"}}),
        '<body class="template-product"><div class="announcement-bar">Free shipping over €75</div>'
        '<header class="site-header"><nav class="header__inline-menu"><ul class="list-menu"><li><a href="/collections/all">'
        'Shop all</a></li><li><a href="/pages/about">Our story</a></li></ul></nav></header>'
        '<main id="MainContent"><section class="product"><div class="product__media-wrapper"><img src="l.jpg" '
        'alt="Lantern on a quay"></div><div class="product__info-wrapper"><p class="product__text">Northlight</p>'
        '<div class="product__title"><h1>Harbour Lantern</h1></div><div class="price"><span class="price-item '
        'price-item--regular">€48,00 EUR</span></div><form action="/cart/add"><label>Quantity</label><button '
        'type="submit">Add to cart</button></form><div class="product__description rte"><p>A storm lantern of '
        "galvanised steel with a glass chimney that withstands sea wind, made after the lamps which pilots once hung at "
        "the mole.</p><ul><li>Height 31 cm, weight 1.2 kg</li><li>Burns paraffin or lamp oil for 20 hours</li></ul></div>"
        '<details class="accordion"><summary>Care</summary><div class="accordion__content rte"><p>Trim the wick before '
        "each lighting and wash the chimney in warm water.</p></div></details></div></section>"
        '<section class="product-recommendations"><h2>You may also like</h2><ul class="grid product-grid"><li class="card">'
        '<h3 class="card__heading"><a href="/products/mooring-rope">Mooring Rope</a></h3><span class="price">€19,00</span>'
        '</li><li class="card"><h3 class="card__heading"><a href="/products/brass-bell">Brass Bell</a></h3><span '
        'class="price">€62,00</span></li></ul></section></main>'
        '<div class="newsletter"><h2>Subscribe to our emails</h2><form><input type="email"></form></div>' + _FOOT + "</body>",
    ),
    (
        "Harbour Lantern", "48,00", "galvanised steel with a glass chimney", "Height 31 cm", "lamp oil for 20 hours",
        "Trim the wick",
    ),
    ("Mooring Rope", "Brass Bell", "Subscribe to our emails", "Returns policy", "Our story"),
)  # fmt: skip

WOOCOMMERCE_PRODUCT: SitePage = (
    "https://kiln.test/product/rye-flour-crock/",
    _page(
        "Rye Flour Crock - The Kiln",
        '<meta name="generator" content="WooCommerce 8.2">',
        '<body class="single-product woocommerce"><header id="masthead"><nav class="main-navigation"><ul class="menu">'
        '<li><a href="/shop/">Shop</a></li><li><a href="/workshops/">Workshops</a></li></ul></nav></header>'
        '<nav class="woocommerce-breadcrumb"><a href="/">Home</a> / <a href="/c/storage/">Storage jars</a> / Rye Flour '
        'Crock</nav><div id="primary" class="content-area"><main id="main"><div id="product-81" class="product type-product">'
        '<div class="woocommerce-product-gallery"><img src="c.jpg"></div><div class="summary entry-summary"><h1 '
        'class="product_title entry-title">Rye Flour Crock</h1><p class="price"><span class="woocommerce-Price-amount '
        'amount"><bdi><span>$</span>86.50</bdi></span></p><div class="woocommerce-product-details__short-description">'
        "<p>A lidded stoneware crock that keeps five pounds of flour dry and cool on an open shelf.</p></div>"
        '<p class="stock in-stock">7 in stock</p><form class="cart"><input type="number"><button>Add to cart</button></form>'
        '<div class="product_meta"><span class="sku_wrapper">SKU: <span class="sku">CR-RYE-5</span></span></div></div>'
        '<div class="woocommerce-tabs wc-tabs-wrapper"><ul class="tabs wc-tabs"><li><a href="#tab-description">Description'
        '</a></li><li><a href="#tab-reviews">Reviews (2)</a></li></ul><div class="woocommerce-Tabs-panel" '
        'id="tab-description"><h2>Description</h2><p>Each crock is thrown on a kick wheel from local clay, glazed with '
        "wood ash and fired for thirty hours. The lid has a cork ring and lifts off with one hand.</p></div>"
        '<div class="woocommerce-Tabs-panel" id="tab-additional_information"><h2>Additional information</h2><table '
        'class="woocommerce-product-attributes shop_attributes"><tr><th>Weight</th><td>2.9 kg</td></tr><tr><th>Dimensions'
        "</th><td>22 × 22 × 28 cm</td></tr><tr><th>Glaze</th><td>Oak ash</td></tr></table></div></div>"
        '<section class="related products"><h2>Related products</h2><ul class="products"><li class="product"><a href="/p/s">'
        '<h2 class="woocommerce-loop-product__title">Salt Pig</h2><span class="price">$34.00</span></a></li><li '
        'class="product"><a href="/p/b"><h2 class="woocommerce-loop-product__title">Butter Bell</h2><span class="price">'
        "$41.00</span></a></li></ul></section></div></main></div>" + _FOOT + "</body>",
    ),
    (
        "Rye Flour Crock", "86.50", "five pounds of flour", "kick wheel from local clay", "2.9 kg", "22 × 22 × 28 cm",
        "Oak ash",
    ),
    ("Salt Pig", "Butter Bell", "Workshops", "Returns policy"),
)  # fmt: skip

MAGENTO_PRODUCT: SitePage = (
    "https://trail.test/fell-jacket.html",
    _page(
        "Fell Jacket",
        '<meta property="og:type" content="product">',
        '<body class="catalog-product-view"><div class="page-wrapper"><header class="page-header"><div class="panel header">'
        '<a class="action skip">Skip to content</a></div></header><nav class="navigation"><ul><li class="level0"><a '
        'href="/men">Menswear</a></li><li class="level0"><a href="/packs">Rucksacks</a></li></ul></nav><div '
        'class="breadcrumbs"><ul class="items"><li class="item home"><a href="/">Home</a></li></ul></div><main '
        'id="maincontent" class="page-main"><div class="columns"><div class="column main"><div class="product-info-main">'
        '<div class="page-title-wrapper product"><h1 class="page-title"><span class="base" itemprop="name">Fell Jacket'
        '</span></h1></div><div class="product-info-price"><div class="price-box"><span class="price-container">'
        '<span class="price">£219.00</span></span></div><div class="product-info-stock-sku"><div class="stock available">'
        '<span>In stock</span></div><div class="product attribute sku"><strong class="type">SKU</strong><div class="value">'
        'FJ-2201</div></div></div></div><div class="product-add-form"><form><button>Add to Basket</button></form></div>'
        '<div class="product-social-links"><a class="action towishlist">Add to Wish List</a></div><div class="product '
        'attribute overview"><div class="value"><p>A waterproof shell for long days on open ground, cut to go over a thick '
        'jumper.</p></div></div></div><div class="product info detailed"><div class="product data items"><div class="data '
        'item title"><a class="data switch">Details</a></div><div class="data item content" id="description"><div '
        'class="product attribute description"><div class="value"><p>Three layers of recycled nylon are taped at every '
        "seam. The hood takes a helmet and turns with the head; two vents open under the arms from hem to elbow.</p></div>"
        '</div></div><div class="data item content" id="additional"><table class="data table additional-attributes"><tbody>'
        '<tr><th class="col label">Waterproof rating</th><td class="col data">20,000 mm</td></tr><tr><th class="col label">'
        'Packed weight</th><td class="col data">410 g</td></tr></tbody></table></div><div class="data item content" '
        'id="reviews"><div class="block review-list"><strong>Customer Reviews</strong><ol class="items review-items"><li '
        'class="item review-item"><div class="review-title">Dry at last</div><div class="review-content">Walked the whole '
        'ridge in sleet and my shirt stayed dry, would buy again.</div></li></ol></div></div></div></div><div class="block '
        'upsell"><div class="block-title title"><strong>We found other products you might like!</strong></div><ol '
        'class="products list items"><li class="item product"><strong class="product name"><a href="/g">Crag Gaiters</a>'
        '</strong><span class="price">£39.00</span></li></ol></div></div></div></main>' + _FOOT + "</div></body>",
    ),
    ("Fell Jacket", "£219.00", "waterproof shell for long days", "taped at every seam", "20,000 mm", "410 g"),
    ("Crag Gaiters", "Menswear", "my shirt stayed dry", "Returns policy"),
)

PRESTASHOP_PRODUCT: SitePage = (
    "https://papier.test/en/notebooks/12-field-notebook.html",
    _page(
        "Field notebook",
        "",
        '<body id="product"><header id="header"><div class="header-nav"><div id="contact-link"><a href="/c">Contact us</a>'
        '</div></div><div class="menu" id="_desktop_top_menu"><ul class="top-menu"><li class="category"><a href="/3-pens">'
        'Fountain pens</a></li></ul></div></header><section id="wrapper"><nav class="breadcrumb"><ol><li><a href="/">Home'
        '</a></li></ol></nav><div id="content-wrapper"><section id="main"><div class="row product-container"><div '
        'class="col-md-6"><h1 class="h1">Field notebook</h1><div class="product-prices"><div class="product-price"><div '
        'class="current-price"><span class="current-price-value">14,90 €</span></div></div><div class="tax-shipping-delivery'
        '-label">Tax included</div></div><div class="product-information"><div class="product-description"><p>A sewn '
        "notebook of 96 pages that lies flat on the knee, with a cover that sheds rain.</p></div><div "
        'class="product-actions"><form><div class="product-variants"><span class="control-label">Ruling: Dotted</span></div>'
        '<button class="add-to-cart">Add to cart</button></form></div></div><div class="tabs"><ul class="nav nav-tabs"><li>'
        '<a>Description</a></li></ul><div class="tab-content"><div class="tab-pane active"><div class="product-description">'
        "<p>The paper is made of cotton rags and takes ink without bleeding; the thread is linen. Pages are numbered and "
        'an index stands at the front.</p></div></div><div class="tab-pane"><section class="product-features"><p class="h6">'
        'Data sheet</p><dl class="data-sheet"><dt class="name">Paper weight</dt><dd class="value">100 g/m²</dd><dt '
        'class="name">Format</dt><dd class="value">13 × 21 cm</dd></dl></section></div></div></div></div></div><section '
        'class="featured-products"><h2>16 other products in the same category:</h2><div class="products"><article '
        'class="product-miniature"><h3 class="product-title"><a href="/13">Pocket ledger</a></h3><span class="price">9,90 €'
        '</span></article><article class="product-miniature"><h3 class="product-title"><a href="/14">Music book</a></h3><span'
        ' class="price">12,50 €</span></article></div></section></section></div></section>' + _FOOT + "</body>",
    ),
    ("Field notebook", "14,90 €", "lies flat on the knee", "cotton rags", "100 g/m²", "13 × 21 cm"),
    ("Pocket ledger", "Music book", "Fountain pens", "Returns policy"),
)


def _cards(template: str) -> str:
    goods = (
        ("Ash Stool", "120.00", "Three legs and a seat carved from one plank"),
        ("Elm Bench", "340.00", "Seats three people in a hall or at a long table"),
        ("Oak Peg Rail", "58.00", "Seven turned pegs for coats and hats"),
        ("Beech Ladder Rack", "95.00", "Leans against a wall and holds towels"),
        ("Walnut Tray", "64.00", "A tray with a raised rim for tea"),
        ("Pine Blanket Box", "210.00", "A box with a hinged lid for the end of a bed"),
    )
    return "".join(template.format(name, price, text, number) for number, (name, price, text) in enumerate(goods))


_GOODS = ("Ash Stool", "Elm Bench", "Oak Peg Rail", "Beech Ladder Rack", "Walnut Tray", "Pine Blanket Box", "340.00", "58.00")

BIGCOMMERCE_CATEGORY: SitePage = (
    "https://joiner.test/furniture/",
    _page(
        "Furniture - The Joiner",
        "",
        '<body><header class="header"><nav class="navPages"><ul class="navPages-list"><li class="navPages-item"><a '
        'href="/tools/">Hand tools</a></li></ul></nav></header><div class="body"><div class="container"><ul '
        'class="breadcrumbs"><li class="breadcrumb"><a href="/">Home</a></li></ul><h1 class="page-heading">Furniture</h1>'
        '<div class="page"><aside class="page-sidebar" id="faceted-search-container"><div class="facetedSearch"><h5>Browse by'
        ' Wood</h5><ul class="facetedSearch-optionList"><li><a href="?w=ash">Ash (4)</a></li><li><a href="?w=elm">Elm (2)</a>'
        '</li></ul></div></aside><main class="page-content"><form class="actionBar"><label>Sort By:</label><select><option>'
        'Best Selling</option></select></form><ul class="productGrid">'
        + _cards(
            '<li class="product"><article class="card"><figure class="card-figure"><a href="/p{3}"><img src="{3}.jpg" '
            'alt="{0}"></a></figure><div class="card-body"><h3 class="card-title"><a href="/p{3}">{0}</a></h3><div '
            'class="card-text"><span class="price price--withoutTax">${1}</span></div></div></article></li>'
        )
        + '</ul><ul class="pagination-list"><li class="pagination-item"><a href="?page=2">2</a></li></ul></main></div></div>'
        "</div>" + _FOOT + "</body>",
    ),
    (*_GOODS, "Furniture"),
    ("Browse by Wood", "Hand tools", "Best Selling", "Returns policy"),
)

SHOPIFY_COLLECTION: SitePage = (
    "https://joiner.test/collections/furniture",
    _page(
        "Furniture – The Joiner",
        "",
        '<body><header><nav><a href="/collections/tools">Hand tools</a></nav></header><main id="MainContent"><div '
        'class="collection-hero"><h1 class="collection-hero__title">Furniture</h1><div class="collection-hero__description '
        'rte">Pieces for the hall and the kitchen, made to order in six weeks.</div></div><div class="facets-container">'
        '<form class="facets__form"><details><summary>Availability</summary><label>In stock (5)</label></details></form>'
        '<p class="product-count">6 products</p></div><ul id="product-grid" class="grid product-grid">'
        + _cards(
            '<li class="grid__item"><div class="card-wrapper"><div class="card__content"><div class="card__information">'
            '<h3 class="card__heading"><a href="/products/{3}" class="full-unstyled-link">{0}</a></h3><div '
            'class="card-information"><div class="price"><span class="visually-hidden">Regular price</span><span '
            'class="price-item">${1} USD</span></div></div></div></div></div></li>'
        )
        + "</ul></main>" + _FOOT + "</body>",
    ),
    (*_GOODS, "made to order in six weeks"),
    ("Hand tools", "Availability", "Returns policy"),
)  # fmt: skip

WOOCOMMERCE_ARCHIVE: SitePage = (
    "https://joiner.test/product-category/furniture/",
    _page(
        "Furniture Archives",
        "",
        '<body class="archive tax-product_cat woocommerce"><header><nav><ul><li><a href="/tools">Hand tools</a></li></ul></nav>'
        '</header><div id="primary"><main id="main"><header class="woocommerce-products-header"><h1 '
        'class="woocommerce-products-header__title page-title">Furniture</h1></header><p class="woocommerce-result-count">'
        'Showing all 6 results</p><form class="woocommerce-ordering"><select><option>Sort by popularity</option></select>'
        '</form><ul class="products columns-3">'
        + _cards(
            '<li class="product type-product"><a href="/product/{3}/" class="woocommerce-LoopProduct-link"><h2 '
            'class="woocommerce-loop-product__title">{0}</h2><span class="price"><span class="amount"><bdi>${1}</bdi>'
            '</span></span></a><a href="?add-to-cart={3}" class="button add_to_cart_button">Add to cart</a></li>'
        )
        + '</ul></main></div><aside id="secondary" class="widget-area"><section class="widget"><h2>Filter by price</h2>'
        "<a>Reset all</a></section></aside>" + _FOOT + "</body>",
    ),
    _GOODS,
    ("Hand tools", "Filter by price", "Add to cart", "Returns policy"),
)

SHOP_PAGES: dict[str, SitePage] = {
    "Shopify product": SHOPIFY_PRODUCT, "WooCommerce product": WOOCOMMERCE_PRODUCT, "Magento product": MAGENTO_PRODUCT,
    "PrestaShop product": PRESTASHOP_PRODUCT, "BigCommerce category": BIGCOMMERCE_CATEGORY,
    "Shopify collection": SHOPIFY_COLLECTION, "WooCommerce archive": WOOCOMMERCE_ARCHIVE,
}  # fmt: skip
