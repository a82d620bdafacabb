"""
What of a recorded request can't be carried by our items, and what our requests say besides.

`recordings/paths.py` tells how the patterns are read. Instructions are set apart before, so that
a message of the system is one in the middle of a conversation.
"""

from tests.adapters.recordings.stripping import Row

_SETTING = "a setting that our agents don't have"
_CACHE = "what is cached is the adapter's choice"
_STREAM = "every request of ours is streamed"
_STRICT = "whether a schema is enforced follows from the schema"
_DEFERRED = (
    "tools come and go in a conversation; ours stay the same in a run, and all are declared"
)
_MEDIA = "a person's turn is text"
_RESULT = "a tool's result is text: its data as JSON"
_SYSTEM = "instructions are given once, before the conversation"
_HOSTED = "a hosted tool that the adapter doesn't offer"
_KEPT = "follows from who keeps the conversation"
_UNNAMED = "the shape of an answer has neither a name nor a description"
_SERVER = "a server's own word, beside the API that all of them have"
_BARE = "our tools have a name, a description and a schema"
_WORDS = "a turn of ours is words: nobody is named, and nothing is marked in them"

_OFFERED = "function|web_search|file_search|code_interpreter"

NOT_CARRIED: tuple[Row, ...] = (
    Row("anthropic", "stream", _STREAM),
    Row("anthropic", "temperature|top_k", "the API has no such setting any more"),
    Row("anthropic", "context_management|mcp_servers", _SETTING),
    Row("anthropic", "output_config.task_budget", _SETTING),
    Row("anthropic", "thinking.display", _SETTING),
    Row("anthropic", "cache_control", _CACHE),
    Row("anthropic", "**.cache_control", _CACHE),
    Row("anthropic", "tools[]<custom>.strict", _STRICT),
    Row("anthropic", "tools[]<custom>.defer_loading", _DEFERRED),
    Row("anthropic", "messages[]<system>", _SYSTEM),
    Row("anthropic", "messages[]<user>.content[]<!text|tool_result>", _MEDIA),
    Row("anthropic", "messages[]<user>.content[]<tool_result>.content[]<!text>", _RESULT),
    Row("openai", "stream", _STREAM),
    Row("openai", "moderation|background|provider|context_management", _SETTING),
    Row("openai", "reasoning.context|summary", _SETTING),
    Row("openai", "text.verbosity", _SETTING),
    Row("openai", "store|include", _KEPT),
    Row("openai", "prompt_cache_key|prompt_cache_options", _CACHE),
    Row("openai", "input[]<user>.content[].prompt_cache_breakpoint", _CACHE),
    Row("openai", "text.format.name", _UNNAMED),
    Row("openai", "text.format.strict", _STRICT),
    Row("openai", "tools[]<function>.strict", _STRICT),
    Row("openai", "tools[]<function>.defer_loading", _DEFERRED),
    Row("openai", "tools[]<namespace|tool_search>", _DEFERRED),
    Row("openai", f"tools[]<!{_OFFERED}|namespace|tool_search>", _HOSTED),
    Row("openai", "input[]<additional_tools>", _DEFERRED),
    Row("openai", "input[]<user>.content[]<!input_text>", _MEDIA),
    Row("openai", "input[]<function_call_output>.output[]<!input_text>", _RESULT),
    Row("openai-chat", "stream|stream_options", _STREAM),
    Row("openai-chat", "n|service_tier|user", _SETTING),
    Row("openai-chat", "reasoning|reasoning_format|thinking|clear_thinking", _SERVER),
    Row("openai-chat", "search_settings|web_search_options|preset", _SERVER),
    Row("openai-chat", "reasoning_effort=!none|minimal|low|medium|high|xhigh|max", _SERVER),
    Row("openai-chat", "response_format<json_object>", "an answer has a declared shape, or none"),
    Row("openai-chat", "response_format.json_schema.name|description", _UNNAMED),
    Row("openai-chat", "response_format.json_schema.strict", _STRICT),
    Row("openai-chat", "tools[]<function>.function.strict", _STRICT),
    Row("openai-chat", "tools[]<!function>", _HOSTED),
    Row("openai-chat", "**.cache_control", _CACHE),
    Row("openai-chat", "messages[]<system>", _SYSTEM),
    Row("openai-chat", "messages[]<assistant>.prefix", _SERVER),
    Row("openai-chat", "messages[]<user>.content[]<!text>", _MEDIA),
)
"""Every row is needed by a recording at hand."""


DOCUMENTED: tuple[Row, ...] = (
    Row("anthropic", "begun", "a reply that was begun for the model; newer models refuse that"),
    Row(
        "anthropic",
        "!model|max_tokens|messages|system|tools|tool_choice|thinking|output_config|container",
        _SETTING,
    ),
    Row("anthropic", "system[].!type|text", _WORDS),
    Row("anthropic", "thinking<!enabled|disabled|adaptive>", _SETTING),
    Row("anthropic", "thinking.!type|budget_tokens", _SETTING),
    Row("anthropic", "output_config.!effort|format", _SETTING),
    Row("anthropic", "tools[]<custom>.!type|name|description|input_schema", _BARE),
    Row("anthropic", "tools[]<*toolset*>", _HOSTED),
    Row("anthropic", "messages[]<user|assistant>.!role|content", _WORDS),
    Row("anthropic", "messages[]<user>.content[]<text>.!type|text", _WORDS),
    Row("anthropic", "messages[]<user>.content[]<tool_result>.content[].!type|text", _RESULT),
    Row(
        "openai",
        "!model|system|input|instructions|tools|tool_choice|parallel_tool_calls|reasoning"
        "|max_output_tokens|text|previous_response_id|conversation",
        _SETTING,
    ),
    Row("openai", "reasoning.!effort", _SETTING),
    Row("openai", "text.!format", _SETTING),
    Row("openai", "text.format<json_object>", "an answer has a declared shape, or none"),
    Row("openai", "text.format.!type|schema", _UNNAMED),
    Row("openai", f"tool_choice<!{_OFFERED}>", _HOSTED),
    Row("openai", "tools[]<function>.!type|name|description|parameters", _BARE),
    Row("openai", "input[]<system|developer>", _SYSTEM),
    Row("openai", "input[]<user>.!role|content", _WORDS),
    Row("openai", "input[]<user>.content[].!type|text", _WORDS),
    Row("openai", "input[]<function_call_output>.!type|call_id|output", _RESULT),
    Row("openai", "input[]<function_call_output>.output[].!type|text", _RESULT),
    Row(
        "openai-chat",
        "!model|instructions|messages|tools|tool_choice|parallel_tool_calls|reasoning_effort"
        "|max_tokens|max_completion_tokens|response_format",
        _SETTING,
    ),
    Row("openai-chat", "tool_choice<!function>", _HOSTED),
    Row("openai-chat", "tools[]<function>.!type|function", _BARE),
    Row("openai-chat", "tools[]<function>.function.!name|description|parameters", _BARE),
    Row("openai-chat", "messages[]<developer>", _SYSTEM),
    Row("openai-chat", "instructions[].!role|content", _WORDS),
    Row("openai-chat", "messages[]<user>.!role|content", _WORDS),
    Row("openai-chat", "messages[].content[]<text>.!type|text", _WORDS),
    Row("openai-chat", "messages[]<tool>.!role|content|tool_call_id", _RESULT),
    Row("openai-chat", "messages[]<tool>.content[]<!text>", _RESULT),
    Row("openai-chat", "messages[]<function>", "the older kind of calls, which had no ids"),
    Row("openai-chat", "messages[]<assistant>.tool_calls[]<!function>", _HOSTED),
    Row("openai-chat", "messages[]<assistant>.tool_calls[]<function>.custom", _HOSTED),
    Row(
        "openai-chat",
        "messages[]<assistant>"
        ".!role|content|tool_calls|reasoning|reasoning_content|reasoning_details",
        "what a server says beside words, calls and reasoning isn't asked back",
    ),
    Row("openai-chat", "messages[]<assistant>.content[]<!text|thinking>", _SERVER),
)
"""What else the documents of the APIs know; no recording at hand has it."""

ADDED: tuple[Row, ...] = (
    Row("anthropic", "stream", _STREAM),
    Row("anthropic", "**.cache_control", _CACHE),
    Row("anthropic", "tools[]<custom>.strict", _STRICT),
    Row("openai", "stream|stream_options", _STREAM),
    Row("openai", "store|include", _KEPT),
    Row("openai", "prompt_cache_key", _CACHE),
    Row("openai", "reasoning.summary", "summaries are always asked for"),
    Row("openai", "text.format.name", _UNNAMED),
    Row("openai", "text.format.strict", _STRICT),
    Row("openai", "tools[]<function>.strict", _STRICT),
    Row("openai-chat", "stream|stream_options", _STREAM),
    Row("openai-chat", "prompt_cache_key", _CACHE),
    Row("openai-chat", "response_format.json_schema.name", _UNNAMED),
    Row("openai-chat", "response_format.json_schema.strict", _STRICT),
    Row("openai-chat", "tools[]<function>.function.strict", _STRICT),
)
"""What our requests say beyond what was carried."""
