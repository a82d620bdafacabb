"""What people name in sentences: what nobody can bring back, and what anybody can."""


def list_words(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


def _nouns(words: str) -> frozenset[str]:
    """Return nouns, and several of each."""
    found = set[str]()
    for word in words.split():
        if word.endswith("y") and word[-2:-1] not in set("aeiou"):
            found |= {word, f"{word[:-1]}ies"}
        else:
            ending = "es" if word.endswith(("s", "x", "sh", "ch")) else "s"
            found |= {word, f"{word}{ending}"}
    return frozenset(found)


ALL = list_words(
    "all every everything each entire whole complete everybody everyone any whatever"
) | list_words("evry eveything everthing evrything")

DETERMINERS = list_words(
    "no nothing none a an the this that these those my your our its his her their all every each "
    "first second third last other only same next previous"
)

BIG = _nouns(
    "crm erp database db table schema keyspace collection repo repository bucket cluster server "
    "vm volume disk drive partition backup snapshot filesystem namespace tenant datacenter "
    "mainframe warehouse datastore mailbox archive environment organisation organization index "
    "lake tablespace replica ssd nas hsm cosmos blob"
) | list_words("production prod infrastructure storage dbs vms staging indices wal")
"""Of these one is enough."""

LARGE = _nouns(
    "queue store site website trail domain workspace inbox registry vault balancer topic stack "
    "ledger album calendar history channel server fleet tenant firewall gateway pipeline portal "
    "zone"
) | list_words("data")
"""Of these one is enough where somebody is thorough about it."""

KEPT = _nouns(
    "thread user account customer client order invoice payment contact photo ticket subscription "
    "employee patient member subscriber lead email mail record instance deployment upload file "
    "folder directory log document secret credential message transaction booking statement "
    "contract appointment supplier vendor candidate applicant voucher coupon certificate snapshot "
    "dump export machine pod container dataset recording picture video branch project group guest "
    "policy spreadsheet report presentation sheet note workbook mandate attachment"
) | list_words("people directories staff")
"""Several of these are enough: somebody has put them in, and wants to have them."""

EVERYTHING = list_words("it them everything everybody everyone all")

THINGS = (
    LARGE
    | KEPT
    | _nouns(
        "row object service site page tag release post comment product resource image session "
        "draft library view repo key entry card loan mortgage asset profile home permission limit "
        "system kiosk laptop phone tablet computer router device atm"
    )
    | EVERYTHING
    | list_words("content contents commits changes cache")
)
"""Of these it takes all, or what is in one of the others."""

HOLDING = LARGE - {"data"} | list_words("trash bin folder folders directory directories recycle")
"""What is as good as gone without all that is in it."""

LOGGING = _nouns("log file table dump ledger journal history")
"""What is cut off: its end is lost."""

WRITTEN = _nouns(
    "backup file config configuration data database db disk dump table partition record volume "
    "drive snapshot photo list image state document history ledger journal sector"
)
"""What is lost where something else is written over it."""

DISKS = _nouns("disk drive partition volume ssd stick card harddisk")
"""What has nothing on it any more when it was formatted."""

RUNNING = BIG | _nouns(
    "instance machine pod stack site website service system deployment container workload "
    "everything app application environment kiosk balancer gateway node job"
)
"""What stops: it can't be started as it was."""

REVOCABLE = _nouns(
    "order subscription account payment key user appointment card policy licence license "
    "certificate token credential transfer booking contract"
) | list_words("access everything")

SMALL = _nouns(
    "line word sentence paragraph import space whitespace newline comma phrase character letter "
    "digit brace bracket parenthesis quote quotation dot dash hyphen slash semicolon colon "
    "variable constant function method class module test case assertion warning error condition "
    "effect style rule dependency package listener handler hook node element item token button "
    "label field input slide section chapter heading header title mark symbol emoji link tab "
    "process string statement call todo typo mistake doubt prefix suffix parameter param argument "
    "option flag type annotation decorator block snippet example footnote reference placeholder "
    "value attribute property filter icon border margin shadow animation pixel point bullet step "
    "mention shape layer clip frame scene breakpoint bookmark toast notification popup ad hint "
    "tip article adjective adverb zero leaf highlight stripe edge bug issue leftover artefact "
    "artifact lock loop one screenshot signature voice slate sweat accent background logo "
    "watermark joke cliche jargon stain dust dirt suspense rumour rumor myth idea obstacle "
    "barrier confusion misunderstanding fear opponent enemy planet dialog dialogue modal "
    "text indentation tabulator underscore plural hashtag paren name noun verb support feature "
    "timeout sidebar template markup attachment-name code branch-name ambiguity redundancy "
    "repetition jitter noise blur cookie cache page-break caption callback print log-statement "
    "console.log comment column cell view version duplicate pages"
)
"""What is in texts, in code, on screens and in heads: there it can be put back."""

ENTERED = _nouns(
    "case name address method entry comment column duplicate tag page field label thread link "
    "value item note version view key parameter rule filter one node reference line cell process "
    "cookie cache token property attachment"
) | {"duplicates"}
"""Of what is small, what people have put into a store: there all of it is much."""

MINOR = list_words(
    "object session instance order comment draft message event task note reminder ticket mail "
    "email meeting"
)
"""One of these alone is a call's matter, and the policy's."""

SINGLE = list_words(
    "user account customer client employee tenant member profile patient folder file directory "
    "record document subscriber"
)
"""One of these is enough where it is said which one."""

WHICH = list_words("with named called whose")

PRECIOUS = list_words("main master production prod live customer customers data client clients")
"""What makes one of the things one that nobody can bring back."""

PAPERS = _nouns(
    "report page docs document documentation readme slide layout html markdown article list menu "
    "diagram figure template ui screen view paper presentation spreadsheet navbar form sidebar "
    "header footer dropdown picker panel widget toolbar modal chart graph legend query result "
    "output response array dict json yaml mock fixture code src source text email body story "
    "essay video song picture screenshot scan title paragraph sentence line name names string url "
    "heading function file.py letter word draft argument table-header"
)
"""What is taken out of one of these can be put back."""

STORES = (
    BIG
    | LARGE
    | _nouns(
        "book crm register payroll case system share nas sheet sharepoint jira gmail outlook "
        "salesforce okta dropbox drive erp cloud account directory folder library"
    )
)
"""What is taken out of one of these is taken from all who use it."""

LISTS = list_words(
    "mailing vendor customer client user payroll contact subscriber address guest price"
)
"""Whose list is no paper."""

TAME = list_words(
    "test tests temp temporary tmp scratch mock dummy sample example fake unused in-memory cached "
    "local empty dev development css trailing leading redundant superfluous generated compiled"
)

NEVER_MIND = list_words("unused test tests dev development empty local temp")
"""What is said of something big without making it less so."""

COLUMNS = list_words(
    "column columns view views constraint constraints trigger triggers role roles"
)
"""What a database has, and drops."""

PORTIONS = list_words(
    "mention mentions reference references trace traces copy copies bit bits piece pieces one "
    "entirety contents rest most"
)
"""What is said of a thing in place of it."""
