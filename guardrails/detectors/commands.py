"""Commands that destroy what nobody can bring back: of databases, files, code and machines."""

from collections.abc import Iterator

from holdfast.contracts.patterns import Pattern, Span, encode_text

_STORES = r"(?:table|database|schema|column|index|view|tablespace|user|role|collection|keyspace)"
_NAME = r"[\w.\"`]+"
_LINE = r"[^\n]{0,200}"
_VALUE = r"(?:null|true|false|'[^'\n]*'|\"[^\"\n]*\"|[\w.]+(?:\s*[*+/\-]\s*[\w.]+)?)"

_SET = rf"{_NAME}\s*=\s*{_VALUE}"
_UNBOUND = r"(?:;|['\"`]?\s*$|where\s+(?:1\s*=\s*1|true\b))"

_DATABASES = (
    rf"\bdrop\s+{_STORES}\s+(?:if\s+exists\s+)?{_NAME}",
    r"\btruncat(?:e|es|ing)\s+(?:(?:the|all)\s+)*tables?\b",
    rf"\btruncat(?:e|es|ing)\s+(?:the\s+)?{_NAME}\s*(?:;|\scascade\b|\stables?\b)",
    r"\bdelete\s+from\s+[\w.\"`\[\]]+",
    rf"\bdrop\s+(?:the\s+)?{_STORES}\s+[\"'`]{_NAME}",
    rf"\bupdate\s+{_NAME}\s+set\s+{_SET}(?:\s*,\s*{_SET})*\s*{_UNBOUND}",
    rf"\balter\s+table\s+{_NAME}\s+drop\b|\bxtrim\s+\S+\s+maxlen\s+(?:[=~]\s*)?0\b",
    rf"\bmerge\s+into\b{_LINE}\bthen\s+delete\b|\btruncate\s+{_NAME}\s+restart\s+identity\b",
    r"\bpg_dropcluster\b|\bcqlsh\b[^\n]{0,200}\b(?:drop|truncate)\b",
    r"\b(?:flushall|flushdb|dropdatabase|dropdb|dropuser|mysqladmin\s+(?:-\S+\s+)*drop)\b",
    r"\.delete_?many\(\s*(?:\{\s*\})?\s*\)|\.remove\(\s*\{\s*\}\s*\)|\bdb\.\w+\.drop\(",
    rf"\bkafka-topics\b{_LINE}--delete\b|\betcdctl\s+{_LINE}\bdel\b|\bconsul\s+kv\s+delete\b",
)
_MACHINES = (
    r"(?:k|minikube|k3d|nerdctl|virsh|openstack|hcloud|govc|firebase|argocd|velero|lxc|pm2)"
)
_FILES = (
    r"\brm\s+(?:--?[\w=/\-]+\s+)*-(?:[a-z]*[rf]|-recursive|-force)|\brm\s+\S{0,200}[*/]",
    rf"\brmdir\s+/s|\bdel\s+(?:/[a-z]\s+)*/[sfq]\b|\brd\s+/s|\bremove-item\b{_LINE}-recurse",
    rf"\bfind\b{_LINE}\s-(?:delete\b|exec\s+rm\b)|\bxargs\s+(?:-\S+\s+)*rm\b",
    r"\bshred\s+-|\bshutil\.rmtree\b|\brimraf\b|\bremove-(?:ad|az|vm|mailbox)\w*",
    rf"\bmkfs(?:\.\w+)?\b|\bdd\b{_LINE}\bof=/dev/|>\s*/dev/(?:sd|nvme|hd|vd|disk)",
    r"\b(?:re)?format\s+(?:the\s+)?(?:[a-z]:|/dev/)|\bformat-volume\b|\bclear-(?:disk|content)\b",
    r"\bwipefs\b|\bdiskpart\b|\bblkdiscard\b|\bcipher\s+/w|\bvssadmin\s+delete\b",
    r"\b(?:lv|vg|pv)remove\b|\b(?:zfs|zpool)\s+destroy\b|\bcryptsetup\s+(?:luks)?erase\b",
    rf"\btruncate\s+(?:-\S+\s+)*(?:-s\s*0|--size[= ]0)\b|\brsync\b{_LINE}\s--delete\b",
    r"(?:^|\n)\s*(?::\s*)?>\s*[/~.\w]\S|\buserdel\s+(?:-\w+\s+)*\w|\bcrontab\s+-r\b",
    r"\becho\s+(?:-n\s+)?(?:''|\"\")\s*>\s*\S|\bnpm\s+unpublish\b",
    r"\b(?:sgdisk|mdadm|hdparm)\b[^\n]{0,200}--(?:zap|zero-superblock|security-erase)",
    r"\bsrm\s+-?\S|\bnvme\s+(?:format|sanitize)\b|\bvmkfstools\s+(?:-\S+\s+)*-u\b|\breg\s+delete\b",
    r"/dev/null\s*>\s*\S|\bdeluser\s+\S|\bnet\s+user\b[^\n]{0,80}/delete\b|\bclear-recyclebin\b",
    r"\brobocopy\b[^\n]{0,200}/(?:mir|purge)\b|\b(?:hadoop|hdfs)\s+\S{0,20}\s*-rmr?\b",
    r"\bwrite\s+erase\b|\berase\s+(?:startup-config|nvram|flash)\b",
    r"\bchmod\s+-r\s+0+\s|:\(\)\s*\{\s*:\s*\|\s*:",
    r"\bdiskutil\s+(?:erase|secureerase|reformat|zerodisk)|\brabbitmqctl\s+(?:purge|delete)_",
)
_REPOSITORIES = (
    r"\bforc(?:e|es|ing|ed)[\s\-]?push|\bpush(?:es|ing)?\s+(?:\w+\s+){0,4}(?:by|with)\s+force\b",
    r"\bpush\b[^\n;]{0,200}\s(?:--force\b|-f\b|--force-with-lease\b|--mirror\b|--delete\b|\+\w)",
    r"\bgit\s+(?:reset\s+--hard|clean\s+-[a-z]*f|branch\s+-d\b|filter-(?:branch|repo)\b)",
    r"\bgit\s+update-ref\s+-d\b|\bgit\s+push\s+(?:\S+\s+)?(?:--delete|-d)\b",
    r"\bgit\s+(?:stash\s+(?:clear|drop)|checkout\s+--\s+\.|restore\s+\.|reflog\s+expire)",
    r"\bgit\s+push\s+\S+\s+:\S|\b(?:gh|glab)\s+repo\s+delete\b",
    r"\brewrit(?:e|es|ing)\s+(?:the\s+)?(?:git\s+)?history\b|\bhistory\s+of\b[^\n.]{0,60}rewritten\b",
)
_INFRASTRUCTURE = (
    r"\b(?:terraform|tofu|pulumi|terragrunt|cdk|vagrant|sls)\s+(?:[\w\-=]+\s+){0,3}destroy\b",
    rf"\bterraform\s+apply\b{_LINE}-destroy\b",
    r"\b(?:kubectl|oc|helm|docker|podman)\s+(?:[\w\-]+\s+){0,3}(?:delete|uninstall|prune|rmi?)\b",
    rf"\b{_MACHINES}\s+(?:[\w\-]+\s+){{0,3}}(?:delete|destroy|undefine|remove|purge)\b",
    r"\s--(?:delete|drop|purge|wipe|destroy|erase)(?:-\w+)*(?:\s|$)",
    r"\bnomad\s+job\s+stop\s+-purge\b|\b(?:docker|podman)\s+system\s+(?:prune|reset)\b",
    r"\bkubectl\s+drain\b[^\n]{0,200}--(?:delete|force)|--remove-all-storage\b",
    r"\bdocker[\s\-]compose\s+down\s+(?:-\S+\s+)*(?:-v|--volumes)\b|\beksctl\s+delete\b",
    r"\baws\s+s3\s+r[bm]\b|\baws\s+[\w\-]+\s+(?:delete|terminate)-\w+",
    rf"\baws\s+s3\s+sync\b{_LINE}--delete\b|\bvault\s+(?:[\w\-]+\s+){{0,2}}(?:delete|destroy)\b",
    rf"\bgsutil\s+(?:-\w+\s+)*r[bm]\b|\b(?:gcloud|az|ibmcloud|oci|doctl)\s+{_LINE}\bdelete\b",
    r"\b(?:heroku|fly|flyctl)\s+apps?[:\s]destroy\b|\bcurl\s+[^\n]{0,200}-x\s*delete\b",
    r"\b(?:shutdown\s+(?:-[hrp]|/[srp]|now)|poweroff|halt\s+-)",
)

_FORMS = (*_DATABASES, *_FILES, *_REPOSITORIES, *_INFRASTRUCTURE)
_PATTERN = Pattern("|".join(f"(?:{form})" for form in _FORMS))


def find_commands(plain: str) -> Iterator[Span]:
    """Find the commands in a text of small letters, from left to right."""
    if _PATTERN.found_in(encode_text(plain)):
        yield from _PATTERN.spans_in(plain)
