"""Words of a subject, and blocks of code in them."""

from holdfast.contracts.guardrails import Subject
from holdfast.guardrails.detectors.code_blocks import find_blocks
from holdfast.guardrails.detectors.subject_text import collect_text


def test_every_text_of_a_subject_is_read() -> None:
    """Texts in the data count, names of fields too, in their order."""
    subject = Subject(kind="answer", text="a", data={"b": ["c", 1, {"d": None}], "e": "f"})

    assert collect_text(subject) == "a\nb\nc\nd\ne\nf"


def test_deep_data_is_read() -> None:
    """Depth is no way around."""
    data: list[object] = ["deep"]
    for _ in range(150):
        data = [data]

    assert collect_text(Subject.model_validate({"kind": "answer", "data": data})) == "\ndeep"


def test_blocks_of_code_are_found() -> None:
    """Fenced with either mark, in a list, in a quotation, indented; each with its language."""
    text = """
```Python title="a.py"
a
```
~~~
b
~~~
* one
  ```{.py}
  c
  ```
> ```js
> d
> ```

    e
"""

    assert [(block.language, block.content) for block in find_blocks(text)] == [
        ("python", "a\n"),
        ("", "b\n"),
        ("py", "c\n"),
        ("js", "d\n"),
        ("", "e\n"),
    ]
