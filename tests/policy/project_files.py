"""Files of a project, for tests."""

import hashlib

from holdfast.contracts.project import ProjectContext, Source
from holdfast.policy.project import Document, merge

SECTIONS = """# The shop

Words before.

## Build
```sh
make all
```
## TEST
Run them all first.

    make test

## Code Style
- Indentation: 4 spaces
- No globals
## architecture
Two parts.

### Storage
One table.
## Deployment
On Fridays never.
## Security
Keep keys out.
## Else
Words after.
"""


def a_document(text: str, path: str = "AGENTS.md", source: Source = "agents") -> Document:
    return Document(path, source, hashlib.sha256(text.encode()).hexdigest(), text)


def read(text: str) -> ProjectContext:
    """What one AGENTS.md says."""
    return merge([a_document(text)])
