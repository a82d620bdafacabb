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

_SYSTEMS = _nouns(
    "lims plc scada historian mes hmi dcs gis wiki intranet extranet forum crm erp lms hris ehr "
    "emr pacs cms dms pbx siem ldap nas san lakehouse datalake hypervisor vpc vnet subnet "
    "nodepool autoscaler elasticsearch opensearch redis memcached mongo mongodb postgres "
    "postgresql mysql mariadb oracle cassandra clickhouse influxdb couchdb neo4j etcd kafka "
    "rabbitmq jenkins jira confluence sharepoint nextcloud wordpress moodle magento keycloak "
    "minio hadoop hdfs kubernetes openshift proxmox"
)
"""What an organisation runs, and how people call it by its product's name."""

_HOSTED = _nouns(
    "slack teams gmail outlook salesforce okta dropbox onedrive icloud hubspot zendesk shopify "
    "workday sap quickbooks xero datev notion airtable trello asana github gitlab bitbucket "
    "dynamodb rds ec2 s3 bigquery snowflake databricks redshift azure aws gcp heroku netlify "
    "vercel cloudflare mailchimp stripe servicenow freshdesk intercom mixpanel classroom "
    "blackboard epic cerner bamboohr personio lever greenhouse docusign box figma miro exchange"
)
"""What others run: whatever is taken out of it is gone for all who use it."""

_FINANCE = _nouns(
    "receipt payslip payout payroll refund chargeback holding position trade portfolio debt "
    "debtor creditor receivable liability cheque claim premium quotation bond fund wallet "
    "beneficiary payee direct-debit balance budget reconciliation fee tariff discount"
)
_STAFF = _nouns(
    "applicant resume cv timesheet absence leave vacation appraisal worker freelancer intern "
    "trainee joiner leaver roster shift badge pension benefit salary bonus grievance reference"
)
_HEALTH = _nouns(
    "chart x-ray scan mri prescription referral diagnosis vaccination allergy dose specimen "
    "sample immunisation immunization consent admission discharge biopsy implant donor ward"
)
_SCHOOL = _nouns(
    "student pupil grade mark transcript exam enrolment enrollment course attendance homework "
    "assignment teacher parent timetable quiz submission graduate alumnus scholarship lesson"
)
_SHOP = _nouns(
    "catalog catalogue pricelist cart basket stock inventory sku listing return refund "
    "reservation wishlist review rating shipment parcel gift-card loyalty-point customer-card "
    "till variant"
)
_OPERATIONS = _nouns(
    "host node image build pipeline alert dashboard monitor runner worker cert token role route "
    "ip interface-gateway tape node-group cronjob schedule playbook runbook recipe job artefact "
    "artifact package release secret configmap ingress webhook integration plugin"
)
_TALK = _nouns(
    "chat conversation inbox voicemail call thread channel newsletter campaign survey event "
    "invitation recipient follower sender subscriber feed blog article memo"
)

BIG = (
    _SYSTEMS
    | _nouns(
        "env crm erp database db table schema keyspace collection repo repository bucket cluster "
        "server vm volume disk drive partition backup snapshot filesystem namespace tenant "
        "datacenter mainframe warehouse datastore mailbox archive environment organisation "
        "organization index lake tablespace replica ssd nas hsm cosmos blob"
    )
    | list_words("production prod infrastructure storage dbs vms staging indices wal")
)
"""Of these one is enough."""

RUN = BIG | _HOSTED
"""What is done to a part of one of these is done to much."""

LARGE = _nouns(
    "branch deployment project dataset group stock inventory sandbox queue store site website "
    "trail domain workspace inbox registry vault balancer topic stack ledger album calendar "
    "history channel server fleet tenant firewall gateway pipeline portal zone"
) | list_words("data evidence footage correspondence paperwork metadata telemetry media software")
"""Of these one is enough where somebody is thorough about it."""

KEPT = _nouns(
    "thread user account customer client order invoice payment contact photo ticket subscription "
    "employee patient member subscriber lead email mail record instance deployment upload file "
    "folder directory log document secret credential message transaction booking statement "
    "contract appointment supplier vendor candidate applicant voucher coupon certificate "
    "snapshot dump export machine pod container dataset recording picture video branch project "
    "group guest policy spreadsheet report presentation sheet note workbook mandate attachment"
) | list_words("people directories staff letters sandbox")
"""Several of these are enough: somebody has put them in, and wants to have them."""

TRADES = _FINANCE | _STAFF | _HEALTH | _SCHOOL | _SHOP | _OPERATIONS | _TALK
"""What is put in by those who work in banks, hospitals, schools, shops and with machines."""

EVERYTHING = list_words("it them everything everybody everyone all")

THINGS = (
    LARGE
    | KEPT
    | _nouns(
        "row object service site page tag release post comment product resource image session "
        "draft library view repo key entry card loan mortgage asset profile home permission "
        "limit system kiosk laptop phone tablet computer router device atm pc desktop "
        "workstation macbook ipad iphone thinkpad chromebook switch terminal sensor camera tape "
        "stick printer thermostat meter drone firmware handset smartphone watch modem appliance "
        "center centre"
    )
    | TRADES
    | EVERYTHING
    | list_words("content contents commits changes cache")
)
"""Of these it takes all, or what is in one of the others."""

HOLDING = LARGE - {"data"} | list_words("trash bin folder folders directory directories recycle")
"""What is as good as gone without all that is in it."""

LOGGING = _nouns("log file table dump ledger journal history")
"""What is cut off: its end is lost."""

WRITTEN = _nouns(
    "primary secondary standby follower backup file config configuration data database db disk "
    "dump table partition record volume drive snapshot photo list image state document history "
    "ledger journal sector"
)
"""What is lost where something else is written over it."""

DISKS = _nouns("disk drive partition volume ssd stick card harddisk")
"""What has nothing on it any more when it was formatted."""

RUNNING = BIG | _nouns(
    "instance machine pod stack site website service system deployment container workload "
    "everything app application environment portfolio center centre kiosk balancer gateway node "
    "job"
)
"""What stops: it can't be started as it was."""

REVOCABLE = _nouns(
    "invoice session enrolment enrollment registration trade reservation mandate membership "
    "login order subscription account payment key user appointment card policy licence license "
    "certificate token credential transfer booking contract"
) | list_words("access everything")

SMALL = _nouns(
    "constructor destructor reducer mock fixture design concept canvas spinner dropdown checkbox "
    "tooltip placeholder subtitle filler pause vocal codepath semaphore mutex closure iterator "
    "getter setter enum struct macro pragma linter lint polyfill shim dataframe regex regexp "
    "selector stylesheet breadcrumb carousel banner avatar logline assert line word sentence "
    "paragraph import space whitespace newline comma phrase character letter digit brace bracket "
    "parenthesis quote quotation dot dash hyphen slash semicolon colon variable constant "
    "function method class module test case assertion warning error condition effect style rule "
    "dependency package listener handler hook node element item token button label field input "
    "slide section chapter heading header title mark symbol emoji link tab process string "
    "statement call todo typo mistake doubt prefix suffix parameter param argument option flag "
    "type annotation decorator block snippet example footnote reference placeholder value "
    "attribute property filter icon border margin shadow animation pixel point bullet step "
    "mention shape layer clip frame scene breakpoint bookmark toast notification popup ad hint "
    "tip article adjective adverb zero leaf highlight stripe edge bug issue leftover artefact "
    "artifact lock loop one screenshot signature voice slate sweat accent background logo "
    "watermark joke cliche jargon stain dust dirt suspense rumour rumor myth idea obstacle "
    "barrier confusion misunderstanding fear opponent enemy planet dialog dialogue modal text "
    "indentation tabulator underscore plural hashtag paren name noun verb support feature "
    "timeout sidebar template markup attachment-name code branch-name ambiguity redundancy "
    "repetition jitter noise blur cookie cache page-break caption callback print log- statement "
    "console.log comment column cell view version duplicate pages"
) - {"letters"}
"""What is in texts, in code, on screens and in heads: there it can be put back."""

ENTERED = _nouns(
    "space case name address method entry comment column duplicate tag page field label thread "
    "link value item note version view key parameter rule filter one node reference line cell "
    "process cookie cache token property attachment article flag template class code ad point "
    "layer"
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

HOLDERS = list_words("user account customer client employee tenant member profile patient student")
"""One of these is enough where it is the one of somebody: the account of Tim."""

WHICH = list_words("with named called whose")

PRECIOUS = list_words("main master production prod live customer customers data client clients")
"""What makes one of the things one that nobody can bring back."""

PAPERS = _nouns(
    "transcript module codebase stylesheet dataframe matrix guideline implementation parser sdk "
    "component canvas changelog roadmap lockfile makefile dockerfile package.json unit-test spec "
    "suite snippet deck dialogue dialog scene plot chapter poem lyric speech novel lecture "
    "thesis storyline joke report page docs document documentation readme slide layout html "
    "markdown article list menu diagram figure template ui screen view paper presentation "
    "spreadsheet navbar form sidebar header footer dropdown picker panel widget toolbar modal "
    "chart graph legend query result output response array dict json yaml mock fixture code src "
    "source text email body story essay video song picture screenshot scan title paragraph "
    "sentence line name names string url heading function file.py letter word draft argument "
    "table-header"
)
"""What is taken out of one of these can be put back."""

STORES = (
    BIG
    | LARGE
    | _nouns(
        "book crm register payroll case system share nas sheet sharepoint jira gmail outlook "
        "salesforce okta dropbox drive erp cloud account directory folder library list shop "
        "catalog catalogue base inventory knowledge network console software app tool program "
        "platform register site"
    )
    | _HOSTED
)
"""What is taken out of one of these is taken from all who use it."""

LISTS = _nouns(
    "mailing vendor customer client user payroll contact subscriber address guest price "
    "newsletter cafeteria member student patient supplier employee staff waiting distribution "
    "reminder email e-mail phone block allow deny access recipient candidate attendee invitation "
    "volunteer donor tenant device stock product inventory whitelist blacklist watch admin"
)
"""Whose list is no paper."""

TAME = list_words(
    "test tests temp temporary tmp scratch mock dummy sample example fake unused in-memory "
    "cached local empty dev development css trailing leading redundant superfluous generated "
    "compiled unreachable dangling deprecated"
)

NEVER_MIND = list_words("unused test tests dev development empty local temp")
"""What is said of something big without making it less so."""

ONES_OWN = list_words("dev local development debug preview")
"""What is said of a server that may stop: it is started again."""

COLUMNS = list_words(
    "column columns view views constraint constraints trigger triggers role roles"
)
"""What a database has, and drops."""

PORTIONS = list_words(
    "mention mentions reference references trace traces copy copies bit bits piece pieces one "
    "entirety contents rest most"
)
"""What is said of a thing in place of it."""

TITLED = list_words(
    "volume user account database table bucket server host vm machine node cluster queue topic "
    "tenant container pod deployment service branch repo repository project folder directory "
    "file group role domain zone index collection schema keyspace namespace workspace mailbox "
    "channel instance device customer client employee patient student supplier"
)
"""Behind these stands what one of them is called."""

COMPOUNDS = _nouns(
    "interface guide manual experience journey story behaviour behavior count type size format "
    "extension structure layout colour color font design logic check validation name id path "
    "manager management access setting interaction need agreement feedback question request "
    "education care satisfaction service model number limit error"
) | list_words("test tests")
"""Before these, a thing says what they belong to: the user interface."""

AT_HOME = _nouns(
    "shoe coat hat jacket glove sock lid screw bolt rose hedge leftovers tension hiccup headache "
    "pain stress anxiety bias prejudice boredom worry smell odour odor weed guitar impossible "
    "garlic onion recipe flour egg lemon face tear smile grin nose mouth hand hair floor counter "
    "kitchen dishwasher sink fridge oven cheese carrot chicken potato cabbage plate dish glass "
    "sofa couch carpet whiteboard chalkboard garden lawn snow driveway throat lung mind heart "
    "head competition argument death-star dragon monster castle villain hero star planet"
)
"""What is wiped, shredded and cleared without anybody's systems."""

OWNERS = _nouns(
    "user customer client member patient employee student pupil tenant subscriber supplier "
    "vendor guest contact candidate applicant player citizen"
)
"""Whose entries are much, however small each of them is."""

LAID = list_words("table tables board boards")
MEALS = list_words("lunch dinner breakfast supper meal meals guests kids chairs plates class")
"""Where one of these is near, a table is one to eat at."""

PAPERY = list_words(
    "response json openapi html css ui source code readme markdown python javascript typescript"
)
"""What is taken out of one of these is taken from a text, whatever it is called."""
