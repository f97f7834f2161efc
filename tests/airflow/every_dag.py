"""All DAGs from the guide and the examples, unchanged and with a schedule, and their expected results."""

import re
from importlib import resources
from pathlib import Path

from compsil_airflow.example_dags.customers import make_customers

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "airflow.md"
# The number of customer types in the data.
TRUE_K = 4
# Maps each DAG to one of its tasks and the expected XCom of that task.
EXPECTED = {
    "compsil_asset_producer": ("select_k", TRUE_K),
    "compsil_probability": ("use", "4 segments"),
    "compsil_regions": ("collect", [TRUE_K, TRUE_K]),
    "compsil_resources": ("select_k", TRUE_K),
    "compsil_select_and_branch": ("count_clusters", [700, 450, 90, 60]),
    "compsil_spread": ("use", "4 clusters"),
    "compsil_sql": ("select_k", TRUE_K),
    "decorated": ("segments", TRUE_K),
    "producer": ("select_k", TRUE_K),
    "segments": ("announce", "4 segments today"),
    "spread": ("select_k.combine", TRUE_K),
}
# DAGs that are triggered by asset events.
CONSUMERS = {"compsil_asset_consumer": ("use", TRUE_K), "consumer": ("use", TRUE_K)}
_SCHEDULE = r'schedule=(?:None|"@daily", start_date=.*?\), catchup=False)'
_DECORATOR = re.compile(rf"^@dag\({_SCHEDULE}(.*)\)\ndef (\w+)\(", re.MULTILINE)


def dag_files(data: Path, major: int) -> dict[str, str]:
    """Return the content of the example files and the code blocks of the guide, with another folder for /data."""
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    found = {f"guide_{at}.py": block.replace('"/data', f'"{data}') for at, block in enumerate(blocks)}
    if major < 3:
        # The guide describes this change for Airflow 2.
        found = {
            name: text.replace("from airflow.sdk import", "from airflow.providers.common.compat.sdk import")
            for name, text in found.items()
        }
    folder = Path(str(resources.files("compsil_airflow") / "example_dags"))
    return found | {path.name: path.read_text() for path in folder.glob("compsil_*.py")}


def lay_out(dags: Path, data: Path, major: int) -> None:
    """Write every DAG to a DAGs folder, once unchanged and once with a schedule."""
    make_customers().to_parquet(data / "customers.parquet")
    for name, text in dag_files(data, major).items():
        (dags / name).write_text(text)
        scheduled = _DECORATOR.sub(
            r'@dag(dag_id="scheduled_\2", start_date=__import__("pendulum").datetime(2026, 1, 1), '
            r'schedule="@once"\1)' + "\ndef \\2(",
            text,
        )
        # The unchanged file already defines the consumers.
        (dags / f"scheduled_{name}").write_text(re.sub(r"^(compsil_asset_)?consumer\(\)\n", "", scheduled, flags=re.M))
