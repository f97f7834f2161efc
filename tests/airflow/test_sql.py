"""Which errors of databases are final, as each database reports them."""

import sqlite3

import pytest

from compsil_airflow.sql import is_rejection


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
        # MySQL, SQL Server through ODBC, Oracle, Trino.
        error("OperationalError", 1054, "Unknown column 'a' in 'field list'"),
        error("OperationalError", "42S22", sqlstate="42S22"),
        error("OperationalError", "ORA-00942: table or view does not exist"),
        error("UndefinedTable", "no", pgcode="42P01"),
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
        ConnectionError("refused"),
    ],
)
def test_worth_another_attempt(found):
    assert not is_rejection(found)
