"""The Python of docs/cluster.md runs on a real cluster, with the file that it names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray Data warns about its own options
def test_the_page_runs(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    texts = ["Backups run every night, and are kept for a year.", "Anna keeps the keys.", "The fox ran.", "It rains."]
    pq.write_table(pa.table({"id": ["backups", "keys", "fox", "rain"], "body": texts}), "documents.parquet")
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    code = (
        "\n".join(blocks)
        .replace('"corpus.ms"', repr(str(tmp_path / "corpus.ms")))
        .replace('"documents.parquet"', repr(str(tmp_path / "documents.parquet")))
    )
    exec(compile(code, str(PAGE), "exec"), {})
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith("['backups', ")
    assert said.endswith("] exact")
