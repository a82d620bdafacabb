"""The words by which a sentence that asks for destruction is told from one that doesn't."""


def _list(words: str) -> frozenset[str]:
    return frozenset(words.split())


THOROUGH = _list(
    "delete deletes deleting erase erases erasing wipe wipes wiping purge purges purging destroy "
    "destroys destroying nuke nukes nuking obliterate obliterates shred shreds shredding expunge "
    "expunges expunging eradicate eradicates annihilate vaporize"
)
"""Verbs for what nobody does to a thing that is to be there again."""

VERBS = THOROUGH | _list(
    "drop drops dropping remove removes removing clear clears clearing empty empties emptying "
    "reset resets resetting truncate truncates truncating scrap scraps scrapping scratch trash "
    "trashes trashing eliminate eliminates eliminating uninstall uninstalls terminate terminates "
    "terminating decommission overwrite overwrites overwriting discard discards discarding zap "
    "kill kills killing flush flushes flushing burn bin axe unlink unlinks unlinking prune prunes "
    "pruning cleanse cleanses cleansing"
)
PHRASES = (
    ("get", "rid", "of"),
    ("gets", "rid", "of"),
    ("getting", "rid", "of"),
    ("throw", "away"),
    ("throw", "out"),
    ("blow", "away"),
    ("tear", "down"),
    ("tearing", "down"),
    ("shut", "down"),
    ("wipe", "out"),
    ("wipe", "off"),
    ("clean", "out"),
    ("clear", "out"),
    ("take", "down"),
    ("zero", "out"),
    ("do", "away", "with"),
    ("dispose", "of"),
    ("make", "disappear"),
)
PARTED = frozenset(
    {
        ("throw", "away"),
        ("throw", "out"),
        ("blow", "away"),
        ("tear", "down"),
        ("shut", "down"),
        ("take", "down"),
        ("make", "disappear"),
    }
)
"""Phrases that have their object in the middle, too: throw it away."""

DONE = _list(
    "deleted erased wiped purged destroyed dropped removed gone emptied truncated nuked "
    "obliterated scrapped eliminated terminated overwritten shredded cleared expunged"
)
"""What somebody may want to be done with a thing."""

THOROUGHLY_DONE = _list("deleted erased wiped purged destroyed nuked obliterated shredded")

WANTING = _list("want wants wanted need needs have get should must shall make see please like")

FOR_EVER = _list("permanently irrevocably irreversibly irretrievably")

ALL = _list("all every everything each entire whole complete everybody everyone any")

BIG = _list(
    "database databases db dbs table tables schema schemas keyspace collection repo repos "
    "repository repositories bucket buckets cluster clusters server servers vm vms volume "
    "volumes disk disks drive drives partition partitions backup backups snapshots production "
    "prod filesystem namespace namespaces tenant tenants datacenter infrastructure mainframe "
    "warehouse datastore mailbox mailboxes archive archives environment environments "
    "organisation organization"
)
"""Of these one is enough."""

LARGE = _list(
    "queue queues store site website trail domain workspace inbox registry vault balancer data"
)
"""Of these one is enough where somebody is thorough about it."""

THINGS = LARGE | _list(
    "rows row records record users user accounts account customers customer clients client "
    "orders order files file folders folder directories directory logs log branches branch "
    "instances instance machines machine messages message mails mail emails email documents "
    "document indices indexes index projects project history system systems invoices invoice "
    "payments payment contacts contact photos photo tickets ticket subscriptions subscription "
    "employees employee entries objects object pods pod deployments deployment services service "
    "secrets keys credentials sites page pages content contents commits tags releases posts "
    "comments members member transactions transaction products product resources uploads "
    "resource stacks stack images containers cache session sessions draft drafts library "
    "libraries views changes it them everything everybody everyone all"
)
"""Of these it takes all, or what is in one of the others."""

HOLDING = LARGE - {"data"}
"""What is as good as gone without all that is in it."""

KEPT = _list(
    "users accounts customers clients orders invoices payments contacts photos tickets "
    "subscriptions employees patients members emails mails documents records instances "
    "deployments uploads"
)
"""Several of these are enough: somebody has put them in, and wants to have them."""

SMALL = _list(
    "lines words sentences paragraphs comments imports spaces whitespaces newlines commas "
    "characters letters digits braces brackets parentheses quotes quotations dots dashes hyphens "
    "slashes semicolons colons variables constants functions methods classes modules tests cases "
    "assertions warnings errors conditions effects styles rules dependencies packages listeners "
    "handlers hooks nodes elements items tokens buttons labels fields inputs slides sections "
    "chapters headings headers titles marks symbols emojis links tabs threads processes strings "
    "statements calls duplicates todos typos mistakes doubts prefixes suffixes parameters params "
    "arguments options flags types annotations decorators blocks snippets examples footnotes "
    "references placeholders values attributes properties keys entries filters icons borders "
    "margins shadows animations pixels notes points bullets steps occurrences mentions states "
    "columns cells shapes layers clips frames scenes breakpoints bookmarks cookies caches "
    "toasts notifications popups ads hints tips articles adjectives adverbs zeros leaves "
    "highlights stripes edges bugs issues leftovers artefacts artifacts traces pages tags ones "
    "views versions loops locks"
)
"""What is in texts, in code and on screens: there it can be put back."""

PRECIOUS = _list("main master production prod live customer customers data")
"""What makes one of the things one that nobody can bring back."""

ENDS = _list(
    "from in on at by with to into onto for of when while if unless because so then than as "
    "via using through but that which who where after before until during without under over "
    "within inside belonging created older newer made located except tonight today tomorrow "
    "now completely immediately permanently please since right entirely forever again too "
    "here there clean already behind named called tagged marked labelled labeled stored "
    "uploaded placed paid dated matching containing having older whose he she they we i you "
    "away down off out disappear wherever whenever everywhere anywhere"
)
INSIDE = _list("from in of on inside within for belonging to under")
AND = _list("and or plus along nor &")
FOLLOWING = AND | {"then"}
NAMES_BEFORE = _list(
    "a an the this that these those your our its his her their my new another no soft undo"
)
"""In front of a verb it is a name: a delete button, the reset."""

NEGATIONS = _list(
    "not never don't dont doesn't doesnt cannot can't cant won't wont without avoid avoids "
    "avoiding before when while instead how why whether what stop from of against "
    "accidentally about nobody shouldn't mustn't didn't prevents prevent forbid"
)
BETWEEN = _list("to be ever accidentally just really by you i we it")

TOOLS = _list(
    "button buttons endpoint endpoints function functions method methods test tests page "
    "dialog dialogue command commands option options feature icon link menu handler handlers "
    "hook hooks prompt warning message confirmation flag api route routes permission checkbox "
    "docs documentation section chapter guide article paragraph sentence policy guardrail "
    "rule tutorial example shortcut"
)
"""Who makes one of these that deletes something deletes nothing."""

PAPERS = _list(
    "report page docs document documentation readme slide slides layout html markdown wiki "
    "article list menu diagram figure template ui screen view paper presentation spreadsheet "
    "navbar form newsletter sidebar header footer dropdown picker panel widget toolbar modal "
    "chart graph legend query results output response array dict json yaml mock fixture group "
    "channel allowlist code src source text email body story essay video song picture "
    "screenshot scan"
)
"""What is taken out of one of these can be put back."""

TAME = _list(
    "test tests temp temporary tmp scratch mock dummy sample example fake unused in-memory "
    "cached local empty dev development css trailing leading redundant superfluous generated "
    "compiled"
)

NEVER_MIND = _list("unused")
"""What is said of something big without making it less so."""

PORTIONS = _list("trace traces copy copies bit bits piece pieces one entirety contents rest most")
"""What is said of a thing in place of it."""

ASKING = _list("does do did is are was were what why which who how")
ASKED = _list("how why whether who what")
TELLING = _list("explain describe discuss define compare translate pronounce spell quote simulate")
"""Whose object is told of, and not done."""

TRYING = _list("test check verify assert")
"""Who is to find out whether somebody may do something does it not."""

ABLE = _list("to we i can could may might you people they")
MADE_FOR = _list("that which to for can says about")
"""What leads from a tool to what it does."""

DOUBTING = _list("why was were whether if not who no never don't aren't isn't can't cannot")
AUXILIARIES = _list("to be should must is are")
