"""Which errors of databases are final, as each database reports them."""

import sqlite3
from types import SimpleNamespace

import pytest

from compsil_airflow.compat import AirflowFailException, BaseHook
from compsil_airflow.errors import is_rejection
from compsil_airflow.source import Source


def error(name, *args, base=Exception, **attributes):
    made = type(name, (type("DatabaseError", (base,), {}),), {})(*args)
    for attribute, value in attributes.items():
        setattr(made, attribute, value)
    return made


@pytest.mark.parametrize(
    "found",
    [
        sqlite3.OperationalError("no such column: nothing"),
        sqlite3.OperationalError('near "SELEC": syntax error'),
        error("ProgrammingError", "relation does not exist"),
        error("NotSupportedError", "no windows"),
        # MySQL, SQL Server through ODBC, Oracle, Trino.
        *(error("OperationalError", number, "MySQL's") for number in (1052, 1054, 1064, 1146, 1305)),
        error("OperationalError", "42S22", sqlstate="42S22"),
        error("OperationalError", "ORA-00942: table or view does not exist"),
        error("UndefinedTable", "no", pgcode="42P01"),
        # What wraps an error of a driver need not be a DatabaseError.
        type("DBAPIError", (Exception,), {})(1064, "syntax"),
        type("OperationalError", (Exception,), {})(1064, "syntax"),
    ],
)
def test_final(found):
    assert is_rejection(found)


@pytest.mark.parametrize(
    "found",
    [
        sqlite3.OperationalError("database is locked"),
        error("OperationalError", 2006, "MySQL server has gone away"),
        error("OperationalError", "ORA-12541: no listener"),
        error("OperationalError", "connection refused", sqlstate="08001"),
        error("OperationalError", "no such column: nothing"),
        error("OperationalError"),
        error("OperationalError", {"code": 1064}),
        ConnectionError("refused"),
        # The number is that of another system.
        OSError(1146, "away"),
    ],
)
def test_worth_another_attempt(found):
    assert not is_rejection(found)


class Hook:
    """Run a query on a cursor with two rows, or fail."""

    get_records = None

    def __init__(self, fails_with=None, description=(("a", "INT"), ("b", "INT"))):
        self.fails_with = fails_with
        self.cursor = SimpleNamespace(description=description, fetchall=lambda: [[1, 2], [3, 4]])

    def run(self, sql, parameters=None, handler=None):
        if self.fails_with is not None:
            raise self.fails_with
        self.ran = sql, parameters
        return handler(self.cursor)


@pytest.fixture
def connect(monkeypatch):
    """Make a hook the one of every connection."""

    def connect(hook):
        connection = SimpleNamespace(get_hook=lambda: hook)
        monkeypatch.setattr(BaseHook, "get_connection", lambda conn_id: connection)

    return connect


def test_names_and_rows(connect):
    connect(hook := Hook())
    found = Source(sql="SELECT a, b FROM t WHERE c = ?", parameters=[5], conn_id="db").load()
    assert found.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert hook.ran == ("SELECT a, b FROM t WHERE c = ?", [5])


@pytest.mark.parametrize(
    ("hook", "kind", "message"),
    [
        (Hook(description=None), AirflowFailException, "^sql must be a query that returns rows"),
        (Hook(error("DataError", "swordfish")), AirflowFailException, r"cannot convert a value \(DataError\)\.$"),
        (Hook(error("ProgrammingError", "no table")), AirflowFailException, "rejected the query: no table$"),
        (Hook(ConnectionError("away")), ConnectionError, "^away$"),
        (SimpleNamespace(), AirflowFailException, "^conn_id must be a connection to a database; the hook of 'db'"),
        (SimpleNamespace(run=print), AirflowFailException, "^conn_id must be a connection to a database"),
        (SimpleNamespace(get_records=print), AirflowFailException, "^conn_id must be a connection to a database"),
    ],
)
def test_errors_of_a_query(hook, kind, message, connect):
    connect(hook)
    with pytest.raises(kind, match=message):
        Source(sql="SELECT 1", conn_id="db").load()
