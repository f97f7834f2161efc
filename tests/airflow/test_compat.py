"""What stands between the two majors of Airflow."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import MAJOR

from compsil_airflow import compat


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, "/home/me/airflow"), ("/opt/af", "/opt/af"), ("~/af", "/home/me/af"), ("$COMPSIL_ROOM/af", "/room/af")],
)
def test_the_home_folder(given, expected, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("COMPSIL_ROOM", "/room")
    if given is None:
        monkeypatch.delenv("AIRFLOW_HOME", raising=False)
    else:
        monkeypatch.setenv("AIRFLOW_HOME", given)
    assert compat.airflow_home() == Path(expected)


def test_names_of_the_major_at_hand():
    assert (MAJOR >= 3) == compat.TASK_MAKES_LINKS
    assert compat.DependencyMixin.__name__ == "DependencyMixin"
    assert issubclass(compat.XComArg, compat.DependencyMixin)
    assert issubclass(compat.BaseOperator, compat.DependencyMixin)
    assert all(hasattr(compat, name) for name in compat.__all__)


@pytest.mark.airflow3
@pytest.mark.parametrize("database", [None, "the database"])
def test_queries_are_parsed_without_asking_the_database(database, monkeypatch):
    calls = []

    def parser(**settings):
        calls.append(settings)
        return SimpleNamespace(generate_openlineage_metadata_from_sql=lambda **given: given)

    monkeypatch.setattr("airflow.providers.openlineage.sqlparser.SQLParser", parser)
    hook = SimpleNamespace(
        get_connection=lambda conn_id: f"connection {conn_id}",
        get_openlineage_database_info=lambda connection: database,
        get_openlineage_database_dialect=lambda connection: f"dialect of {connection}",
        get_openlineage_default_schema=lambda: "public",
    )
    found = compat.parse_sql(hook, "SELECT 1", "shop")
    if database is None:
        assert (found, calls) == (None, [])
    else:
        assert calls == [{"dialect": "dialect of connection shop", "default_schema": "public"}]
        assert found == {"sql": "SELECT 1", "hook": hook, "database_info": database, "use_connection": False}
