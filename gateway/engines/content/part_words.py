"""Patterns for the beginnings of texts that are not content: button labels, delivery terms, details of a forum's
poster, and headings of related items and of what a shop says of itself. `page_parts` matches blocks against them.
"""

import re

ACTION = re.compile(
    r"(?:add\b.{0,80}\bto (?:cart|bag|basket|compare|wish ?list|favou?rites)|quick (?:shop|view|add|look|buy)|"
    r"(?:buy|shop) now|view (?:details|product|all|more)|(?:read|learn|show|see|load) more|read less|"
    r"(?:select|choose) options|sold out|out of stock|in stock|unit price|(?:save|share) this|notify me|"
    r"see (?:all|details)|share on|copy link|save job|place hold|add to calendar|enter your e-?mail|"
    r"(?:please )?(?:select|choose) (?:a|an|your) \w{1,20}$|also available at checkout|size guide|"
    r"stock alerts?$|write a review|current stock|(?:qty|quantity)\b.{0,12}$|"
    r"(?:email|call|contact|message) (?:the )?(?:agent|seller|owner|dealer)|skip to|jump to recipe|"
    r"(?:print|pin|save|rate) (?:this )?recipe|report (?:this (?:item|listing|ad)|an? (?:issue|problem|error))|"
    r"have one to sell|(?:in|de)crease quantity)\b|(?:view|compare|expand|tweet|pin it)$",
    re.IGNORECASE,
)
TERM = re.compile(
    r"(?:(?:free|fast|standard|express|next[- ]day|same[- ]day|worldwide|international|home|easy) ){0,3}"
    r"(?:shipping|delivery|postage|returns)\b(?! (?:scope|includes|contents))|"
    r"(?:usually )?(?:ships?|dispatched|delivered) (?:in|within|from|by)\b|"
    r"orders? (?:placed )?(?:before|over|above)\b|"
    r"\d{1,3}[- ]days? (?:\w{1,20} ){0,2}(?:returns?|money|refund)|pay (?:in|over|later)\b|"
    r"tax(?:es)? (?:included|excluded)|(?:secure|safe) (?:payments?|checkout)|payments?:|money[- ]back",
    re.IGNORECASE,
)
ABOUT_POSTER = re.compile(
    r"(?:posts|threads|messages|joined|reputation|location|topics|registered|member since|reaction score|"
    r"points|likes received) ?(?:: ?\d|[\d,]{1,12}$)|joined:|(?:location|join date|rank|country): .{1,40}$|"
    r"you (?:may not|cannot) (?:post|edit|reply|vote|attach|delete|create) (?:new|to|your|in|attach|repl)|"
    r"(?:you (?:must|need to|have to)|please) (?:be logged in|be registered|log ?in|sign ?in|register)\b|"
    r"(?:last )?edited(?: by\b|:|.{0,20}\d)|\d{1,9} likes?$",
    re.IGNORECASE,
)
RELATED_HEADING = re.compile(
    r"^(?:(?:related|similar|recommended|suggested|sponsored) (?:sponsored )?(?:products?|items?|pages?|goods|"
    r"articles?|posts?|stories|properties|listings|reading|content|software|apps?|games|books|courses|jobs|events|recipes)\b|"
    r"(?:more|other) (?:products|items|stories|articles|posts)\b|(?:recommended|picked|more) for you\b|"
    r"(?:you|we think you).{0,5} (?:may|might|will) (?:also )?(?:like|love|need|enjoy|be interested)\b|"
    r"(?:customers|people|others|shoppers|students) (?:who|also) (?:bought|viewed|like|enrol)|"
    r"(?:your )?recently viewed\b|frequently bought\b|complete (?:the|your) (?:look|set|outfit)\b|"
    r"(?:goes|pairs) (?:well|great|perfectly) with\b|\d{1,3} other products in\b|"
    r"(?:we found )?other products you (?:might|may)\b|(?:read|up) next\b|keep reading\b|"
    r"most (?:read|popular|viewed)(?: (?:articles|posts|stories|news|products|today|now))?$)",
    re.IGNORECASE,
)
SHOP_HEADING = re.compile(
    r"^(?:(?:about|meet|contact|visit|ask) (?:the|this|your|our) (?:seller|shop|store|vendor|company|maker)\b|"
    r"(?:about|contact) us$|why (?:buy|shop|choose|order|trust)\b.{0,30}\b(?:us|with|from|at)\b|"
    r"what makes (?:us|our)\b|our (?:promise|guarantee|commitment|values|mission|story)\b|"
    r"(?:(?:choose|pick|select|add|shop|browse|explore) (?:(?:your|our|an?|some|the) )?)?"
    r"(?:(?:optional|popular|recommended|matching|compatible|must-have) )?(?:add-?ons?|extras|accessories)$|"
    r"(?:buy|shop|build|get) (?:a|the|this|our|your(?: own)?) bundles?\b|bundles? (?:and|&) save\b|"
    r"compare (?:with |to )?(?:similar|other|our|all|models)\b|which .{1,30} is right for you)",
    re.IGNORECASE,
)
FIRST_WORD = re.compile(
    r"\d|(?:add|quick|buy|shop|view|read|learn|show|see|load|select|choose|sold|out|in|unit|save|share|notify|compare|"
    r"copy|place|tweet|pin|expand|posts|threads|messages|joined|reputation|location|topics|registered|member|reaction|"
    r"points|likes|last|edited|join|rank|country|you|please|enter|also|size|stock|write|current|qty|quantity|email|call|contact|message|"
    r"skip|jump|print|rate|report|have|increase|decrease|prev|previous|up|home|contents|index|top|"
    r"free|fast|standard|express|next|same|worldwide|international|home|easy|shipping|delivery|postage|returns|"
    r"usually|ships?|dispatched|delivered|orders?|pay|tax|taxes|secure|safe|payments?|money)\b",
    re.IGNORECASE,
)
"""The first words of the texts above: a block that begins with none of them needs no further search."""
