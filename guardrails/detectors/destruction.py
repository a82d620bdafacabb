"""Words for what can't be undone: a task that has them waits for a person, or ends."""

from holdfast.contracts.patterns import Pattern, encode_text
from holdfast.guardrails.detectors.destroying_sentences import asks_to_destroy
from holdfast.guardrails.detectors.normalize import fold_confusables

REASON = "Destructive operation requires human approval"

_STORES = r"(?:table|database|schema|column|index|view|tablespace|user|role|collection|keyspace)"
_NAME = r"[\w.\"`]+"
_ARTICLES = r"(?:(?:the|my|our|this|that|a|whole|entire|hard)\s+)*"
_LINE = r"[^\n]{0,200}"
_DISKS = r"(?:disks?|drives?|partitions?|volumes?)"
_OVER = r"(?:\s*(?:[.,;:!?]|$)|\s+(?:and|of|on|in|at|to|with|before|now|then|for|please)\b)"
"""Behind the last word of a name."""

_DATABASES = (
    rf"\bdrop\s+{_STORES}\s+(?:if\s+exists\s+)?{_NAME}",
    r"\btruncat(?:e|es|ing)\s+(?:(?:the|all)\s+)*tables?\b",
    rf"\btruncat(?:e|es|ing)\s+(?:the\s+)?{_NAME}\s*(?:;|\scascade\b|\stables?\b)",
    r"\bdelete\s+from\s+[\w.\"`\[\]]+",
    rf"\bdrop\s+(?:the\s+)?{_STORES}\s+[\"'`]{_NAME}",
    r"\b(?:flushall|flushdb|dropdatabase)\b",
)
_FILES = (
    r"\brm\s+(?:--?[\w=/\-]+\s+)*-(?:[a-z]*[rf]|-recursive|-force)",
    rf"\brmdir\s+/s|\bdel\s+(?:/[a-z]\s+)*/[sfq]\b|\brd\s+/s|\bremove-item\b{_LINE}-recurse",
    rf"\bfind\b{_LINE}\s-delete\b|\bshred\s+-|\bshutil\.rmtree\b|\brimraf\b",
    rf"\bmkfs(?:\.\w+)?\b|\bdd\b{_LINE}\bof=/dev/|>\s*/dev/(?:sd|nvme|hd|vd|disk)",
    rf"\b(?:re)?format(?:s|ting)?\s+{_ARTICLES}(?:[a-z]:|{_DISKS}{_OVER})",
    r"\bwipefs\b|\bdiskpart\b|\bblkdiscard\b",
)
_REPOSITORIES = (
    r"\bforc(?:e|es|ing|ed)[\s\-]?push|\bpush(?:es|ing)?\s+(?:\w+\s+){0,4}(?:by|with)\s+force\b",
    r"\bpush\b[^\n;]{0,200}\s(?:--force\b|-f\b|--force-with-lease\b|--mirror\b)",
    r"\bgit\s+(?:reset\s+--hard|clean\s+-[a-z]*f|branch\s+-d\b|filter-(?:branch|repo)\b)",
    r"\brewrit(?:e|es|ing)\s+(?:the\s+)?(?:git\s+)?history\b",
)
_INFRASTRUCTURE = (
    r"\b(?:terraform|tofu|pulumi|terragrunt|cdk|vagrant|sls)\s+(?:[\w\-=]+\s+){0,3}destroy\b",
    rf"\bterraform\s+apply\b{_LINE}-destroy\b",
    r"\b(?:kubectl|oc|helm|docker|podman)\s+(?:[\w\-]+\s+){0,3}(?:delete|uninstall|prune|rmi?)\b",
    r"\baws\s+s3\s+r[bm]\b|\baws\s+[\w\-]+\s+(?:delete|terminate)-\w+",
    rf"\bgsutil\s+(?:-\w+\s+)*r[bm]\b|\b(?:gcloud|az)\s+{_LINE}\bdelete\b",
    r"\b(?:shutdown\s+(?:-[hrp]|/[srp]|now)|poweroff|halt\s+-)",
)
_WORDS = (
    r"\b(?:factory[\s\-]reset|nuke)\s+(?:the|my|our|all|this|every)\b",
    rf"\b(?:wip|eras)(?:e|es|ing)\s+{_ARTICLES}(?:phones?|laptops?|computers?|tablets?)\b",
)

_FORMS = (*_DATABASES, *_FILES, *_REPOSITORIES, *_INFRASTRUCTURE, *_WORDS)
_PATTERN = Pattern("|".join(f"(?:{form})" for form in _FORMS))

_QUESTION = Pattern(
    r"\s*(?:please\s+)?(?:(?:explain|describe|document)\s+(?:how|what|why|when)|"
    r"what\s+(?:does|do|is|happens)|how\s+(?:does|do|is)|why|when\s+(?:does|is))\s"
    r"[^,;:.?!\n]*[?.]?\s*",
    any_case=True,
)
_GOES_ON = Pattern(r"\s(?:and|then|or|but)\s", any_case=True)
"""Where more than a question is asked."""


def is_destructive(text: str) -> bool:
    """Whether a task names an operation that destroys what nobody can bring back."""
    plain = fold_confusables(text)
    if _QUESTION.fits(plain) and not _GOES_ON.found_in(plain):
        return False
    return _PATTERN.found_in(encode_text(plain)) or asks_to_destroy(plain)
