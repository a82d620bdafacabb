"""The words by which an order is told from what only talks of one: they say nothing of things."""

from holdfast.guardrails.detectors.vocabulary import list_words

OPENERS = list_words(
    "please pls plz plse kindly hey hi hello ok okay so now then first firstly second finally "
    "next also just simply yes well alright right and or but plus & && | || again thanks quickly "
    "quick afterwards dear"
)
"""What a clause may begin with, before what it says."""

ADVERBS = list_words(
    "just really accidentally permanently ever also immediately safely simply completely "
    "irreversibly irrevocably irretrievably then now first bulk mass hard fully entirely finally "
    "securely automatically even quietly silently always quickly either both still please and or "
    "all eventually manually remotely recursively be forcibly actually"
)
"""What may stand between a verb and what leads to it."""

NAMES_BEFORE = list_words(
    "a an the this these those your our its his her their my new another no soft undo any each "
    "word words verb called named option command of per some every nightly daily weekly auto as"
)
"""In front of a verb it is a name: a delete button, the reset."""

NEGATIONS = list_words(
    "not don't dont doesn't doesnt didn't didnt isn't aren't wasn't shouldn't mustn't needn't no "
    "neither nor wouldn't nothing none"
)
STRONG_NEGATIONS = list_words(
    "never nobody cannot can't cant won't wont couldn't without avoid avoids avoiding prevent "
    "prevents preventing stop stops stopping instead forbid forbids forbidden prohibit "
    "prohibited prohibits against rather unable refuse refuses refused before disallow deny "
    "denied denies block blocks protect protects protected illegal disallowed unless until while "
    "whenever"
)
"""What denies whatever follows in its clause."""

DENIALS = NEGATIONS | STRONG_NEGATIONS

INSTEAD = list_words("before until while against instead rather unless whenever")
"""What denies a verb behind it, and says of a thing only when or which."""

RELEASING = list_words("forget hesitate fail wait ask worry bother mind longer only care stop")
"""What takes the denial upon itself: don't forget to delete."""

CHAIN = ADVERBS | list_words(
    "means condition conditions way case event want wants wanted need needs you u me us we i they "
    "he she it anyone anybody somebody "
    "someone to have has think should would like allow allowed let able possible the agent "
    "system job bot script user users people them must can may ok okay supposed going try "
    "circumstances account a do reason authority right permission"
)
"""What a denial reaches through."""

SUBORDINATES = list_words(
    "if when whenever unless while because since where although though whether until whose"
)
"""What a condition begins with."""

INTERROGATIVES = list_words(
    "what why which who whom whose how when where does do did is are was were has have had "
    "should may am isn't aren't doesn't didn't hasn't haven't can could would will shall might "
    "must won't can't couldn't wouldn't what's who's how's where's"
)
MODALS = list_words("can could would will won't can't couldn't wouldn't")
ASKED_ONES = list_words("you u ya someone somebody anyone one we")
"""Who is asked in "could you"; others are asked about."""

TELLING = list_words(
    "explain describe discuss define compare translate pronounce spell quote simulate summarise "
    "summarize sum write draft compose document list show tell find check count review report "
    "read search look analyse analyze estimate calculate compute predict imagine suggest propose "
    "recommend prepare plan design sketch outline teach train remind warn notify inform confirm "
    "verify test assert ensure investigate audit inspect identify determine implement add create "
    "build develop generate make log record note mention rewrite rephrase paraphrase proofread "
    "correct fix refactor give provide send name cite convince argue remember learn study "
    "understand know see view display print grep rg echo alias man answer reply respond post "
    "publish present prove evaluate assess consider demonstrate illustrate clarify restore "
    "recover undelete rename move copy approve set invite support allow enable let's-not require "
    "extend improve update change edit reword debug return raise throw-error put enter point "
    "mock stub model label mark flag track monitor alert block prevent limit restrict protect "
    "ask wonder advise say convert turn highlight collect gather export"
)
"""Whose object is told of, made or read, and not destroyed."""

WORDING = list_words(
    "translate pronounce spell quote write draft compose summarise summarize rewrite rephrase "
    "paraphrase proofread correct explain describe define reword answer reply respond post "
    "record review discuss say comment note improve analyse analyze"
)
"""Behind whose colon stands what they are about."""

MENTIONING = TELLING - list_words("set enter put") | list_words(
    "word words phrase text titled says said saying error message messages label sentence called "
    "named title subject headline reads wrote asks asked mean means example clause appear "
    "contain contains does is what's meaning"
)
"""What leads to a quotation that is only talked of."""

TEXTS = list_words(
    "ticket task note reminder issue story error query message statement sentence text command "
    "question phrase answer"
)
"""What stands behind a colon where one of these is read."""

RUNNING = list_words(
    "run execute do type issue apply perform launch invoke call use start trigger submit follow "
    "proceed obey carry initiate paste"
)
"""Who does one of these with a command does what it says."""

ROOMY = list_words("room space sure certain it disk")
"""What is made by destroying, or made sure of: it is no work on a text."""

LEADING = list_words("after in on at with from upon by for")
"""What leads to the words that go back to what was said: in that case."""

BACK = list_words("that this which case day event way point moment night time date order reason")

CONDITIONS_MET = list_words("so not yes possible necessary needed done finished ready complete")
"""What follows an "if" or a "when" that says no more: if so, when done."""

MATTERS = list_words("it they that this everything all tests checks")
MET = list_words(
    "pass passes works work match matches fails fail finish finishes succeeds succeed agrees "
    "agree arrives completes ends closes"
)
"""Behind a matter it is a condition that is met: when they pass."""

SETTING_UP = list_words("set schedule make configure install put create")
SET_UP = list_words("job cron cronjob timer lifecycle schedule retention")
"""What does by itself what it is said to do: a cron job that deletes."""

PUT_IN = list_words("under in at by for as even")
"""What something put in between begins with: do not, under any circumstances, do it."""

SURE = list_words("sure certain ensure ensures see it so guarantee")

BY_DOING = list_words(
    "make prepare improve update change restore set move recover reclaim free save gain"
)
"""What is done by doing something else: prepare them by erasing all data."""

PROPOSING = list_words("say suggest propose vote recommend think guess rather time")

DELEGATING = list_words("tell ask instruct order get have let")

VERBS_BEFORE = list_words(
    "you u to please me us should must let's lets i'll we'll help and can could pls"
)
"""Behind these a verb stands."""

GOVERNORS = list_words(
    "had button buttons way ways how steps step commands tool tools permission permissions right "
    "rights request requests option options ability able attempt attempts decision policy "
    "function functions job script tutorial who where when what whether access power authority "
    "wants tries trying wanted tried refused failed forgot used asks decided takes needed "
    "endpoint method methods test tests page dialog dialogue feature icon link menu handler hook "
    "prompt warning message confirmation flag api route routes checkbox docs documentation "
    "section chapter guide article procedure procedures process processes approval proposal "
    "expected required going reason reasons chance cost effort query unable possible impossible "
    "harder difficult plan plans planning about intend intends hope asked told ordered "
    "instructed requested dangerous risky safe legal illegal bad wrong tempted entitled "
    "authorised authorized permitted likely user users people somebody anybody nobody everyone "
    "customer customers"
)
"""What is for something, or spoken of, where "to" follows."""

RELATIVES = list_words("that which who whom")

LEADING_GERUNDS = list_words(
    "after by mind start begin proceed continue keep try resume finish with through and or via "
    "then"
)
PEOPLE = list_words(
    "users people customers clients admins members viewers employees colleagues tests developers "
    "attackers hackers user customer person admin nobody anybody somebody everybody who they he "
    "she it i we viewer editors editor managers others team teams banks companies humans"
)
"""Who is spoken of: what they do is told."""

DOERS = list_words("you u we i let agent please you'll we'll i'll")
DUTIES = list_words("should must shall")
MAY = list_words("can could may might will would 'll")
PAST_RUNS = list_words(
    "ran executed typed issued performed did used says said wrote saw suggested"
)

REPORTING = list_words(
    "say says said states stated claims claimed requires required mentions mentioned means wrote "
    "writes stipulates explains asked asks told thinks thought believes"
)
"""Who does one of these passes on what others want."""

GLAD = list_words(
    "great nice good grateful appreciate glad happy lovely helpful thankful perfect wonderful love"
)
WANTING = list_words("want need like wish prefer love wants needs expect")
DEMANDING = list_words("requests request demands demand insists insist")
CAUSING = list_words("have get let see getting having")
OBLIGING = list_words("better got should must shall may can could needs need has have ought to")
CONFIRMATIONS = frozenset(
    {
        ("do", "it"),
        ("do", "so"),
        ("do", "that"),
        ("please", "do"),
        ("go", "ahead"),
        ("go", "for"),
        ("run", "it"),
        ("run", "them"),
        ("execute", "it"),
        ("execute", "them"),
    }
)
"""What makes an order of what was only asked about."""

ENDS = list_words(
    "from in on at by with to into onto for of when while if unless because so then than as via "
    "using through but that which who where after before until during without under over within "
    "inside belonging created older newer made located except tonight today tomorrow now "
    "completely immediately permanently please since right entirely forever again too here there "
    "clean already behind named called tagged marked labelled labeled stored uploaded placed "
    "paid dated matching containing having whose he she they we i you away down off out back "
    "disappear wherever whenever everywhere anywhere attached against is are was were has have "
    "had imported including between found left like help helps make makes need needs should must "
    "can could may will would shall twice go goes vanish nobody somebody anyone someone about "
    "regarding concerning once such together alongside irreversibly irrevocably irretrievably"
)
"""Where a name ends."""

ARTICLES = list_words("a an the this that my your our its his her their")

FINITE = list_words("is was has had will would can may should must")

INSIDE = list_words("from in of on inside within for belonging under attached out off")
"""What leads from a thing to what it is in or of."""

AND = list_words("and or plus along nor & && | || together alongside including")

FOLLOWING = list_words("then but so")
"""What a clause may begin with."""

GOING_ON = list_words("a an the all every each of our my your these those delete remove drop")
"""What no line of a list ends with."""
