"""Words for what can't be undone: a task that has them waits for a person, or ends."""

from holdfast.contracts.patterns import Pattern, encode_text
from holdfast.guardrails.detectors.destroying_sentences import asks_to_destroy
from holdfast.guardrails.detectors.normalize import fold_confusables

REASON = "Destructive operation requires human approval"

_STORES = r"(?:table|database|schema|column|index|view|tablespace|user|role|collection|keyspace)"
_NAME = r"[\w.\"`]+"
_ARTICLES = r"(?:(?:the|my|our|this|that|a|whole|entire|hard)\s+)*"
_LINE = r"[^\n]{0,200}"

_DATABASES = (
    rf"\bdrop\s+{_STORES}\s+(?:if\s+exists\s+)?{_NAME}",
    r"\btruncat(?:e|es|ing)\s+(?:(?:the|all)\s+)*tables?\b",
    rf"\btruncat(?:e|es|ing)\s+(?:the\s+)?{_NAME}\s*(?:;|\scascade\b|\stables?\b)",
    r"\bdelete\s+from\s+[\w.\"`\[\]]+",
    r"\b(?:flushall|flushdb|dropdatabase)\b",
)
_FILES = (
    r"\brm\s+(?:--?[\w=/\-]+\s+)*-(?:[a-z]*[rf]|-recursive|-force)",
    rf"\brmdir\s+/s|\bdel\s+(?:/[a-z]\s+)*/[sfq]\b|\brd\s+/s|\bremove-item\b{_LINE}-recurse",
    rf"\bfind\b{_LINE}\s-delete\b|\bshred\s+-|\bshutil\.rmtree\b|\brimraf\b",
    rf"\bmkfs(?:\.\w+)?\b|\bdd\b{_LINE}\bof=/dev/|>\s*/dev/(?:sd|nvme|hd|vd|disk)",
    rf"\b(?:re)?format(?:s|ting)?\s+{_ARTICLES}(?:disks?|drives?|partitions?|volumes?|[a-z]:)",
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
_WORDS = (r"\b(?:factory[\s\-]reset|nuke)\s+(?:the|my|our|all|this|every)\b",)

_FORMS = (*_DATABASES, *_FILES, *_REPOSITORIES, *_INFRASTRUCTURE, *_WORDS)
_PATTERN = Pattern("|".join(f"(?:{form})" for form in _FORMS))


def is_destructive(text: str) -> bool:
    """Whether a task names an operation that destroys what nobody can bring back."""
    plain = fold_confusables(text)
    return _PATTERN.found_in(encode_text(plain)) or asks_to_destroy(plain)
