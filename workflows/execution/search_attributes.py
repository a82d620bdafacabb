"""What a run says of itself where runs are listed: search attributes, and a memo."""

from temporalio.common import SearchAttributeKey

from holdfast.guardrails.detectors import resource_claims

NAME = SearchAttributeKey.for_keyword("AgentName")

TENANT = SearchAttributeKey.for_keyword("AgentTenant")

STATUS = SearchAttributeKey.for_keyword("AgentStatus")

SESSION = SearchAttributeKey.for_keyword("AgentSession")

SUMMARY = "summary"
"""The memo that says on one line what a run is."""

APP = "app"
"""The memo of a part that says whose workers alone begin it."""

PENDING = SearchAttributeKey.for_keyword_list("AgentPending")

RESOURCES = SearchAttributeKey.for_keyword_list(resource_claims.ATTRIBUTE)
