"""The keywords are defined once; the few places that spell them out again are named here, and a new one fails."""

import ast
import re
from pathlib import Path

import pytest

from compsil_kit._settings.keywords import CriteriaKeywords, SelectKeywords, TableKeywords, keywords_of

ROOT = Path(__file__).parents[2]
KEYWORDS = {*keywords_of(TableKeywords), *keywords_of(SelectKeywords), *keywords_of(CriteriaKeywords)}
MANY = 5
# Where a list of keywords may stand, and why it is not made from their definitions.
ALLOWED = {
    "src/compsil_kit/_settings/keywords.py: fields of ClusteringKeywords": "the definitions themselves",
    "src/compsil_kit/select.py: signature of select_k": "editors and type checkers read it",
    "src/compsil_kit/estimator.py: signature of __init__": "scikit-learn reads it",
    "src/compsil_kit/plan.py: fields of Plan": "what was decided, not what was asked for",
    "src/compsil_kit/plan.py: docstring of Plan": "the same",
    "src/compsil_kit/result.py: docstring of SelectionResult": "the same",
    "src/compsil_kit/result.py: signature of reweigh": "editors and type checkers read it",
    "src/compsil_kit/result.py: docstring of reweigh": "None keeps what is there",
    "src/compsil_kit/_result/records.py: collection of _SELECTION": "what a file holds, and its checks",
    "src/compsil_kit/_result/records.py: collection of dump_result": "the same",
    "src/compsil_kit/_run/fingerprint.py: collection of fingerprint": "what decides a trial, and nothing else",
    "integrations/compsil_airflow/operator.py: signature of __init__": "Airflow and editors read it",
    "integrations/compsil_airflow/operator.py: docstring of SelectKOperator": "a DAG is parsed without the engine",
}


def spelled_by(node):
    """Yield what an element of the code spells out by itself, as a kind of place and names."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given = node.args
        yield "signature", {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        inner = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)]
        yield "assignments", {each.attr for each in inner}
    if isinstance(node, ast.ClassDef):
        yield "fields", {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield "docstring", documented(ast.get_docstring(node) or "")
    if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
        items = node.keys if isinstance(node, ast.Dict) else node.elts
        yield "collection", {each.value for each in items if isinstance(each, ast.Constant)}
    if isinstance(node, ast.Call):
        yield "call", {each.arg for each in node.keywords}


def documented(docstring):
    """The names of a numpydoc section's entries: before a colon, or alone in lines that may be continued."""
    lines = [line.partition(" : ")[0].strip(" \\") for line in docstring.splitlines()]
    return {name for line in lines if re.fullmatch(r"\w+(,(\s+\w+|$))*", line) for name in re.findall(r"\w+", line)}


def places(path, source):
    """Where a module spells out many keywords."""
    for node, name in named(ast.parse(source), "the module"):
        for kind, names in spelled_by(node):
            if len(names & KEYWORDS) >= MANY:
                yield f"{path}: {kind} of {name}"


def named(node, name):
    """Yield every element of the code with the name of what it is, or stands in: a function, a class, a constant."""
    if isinstance(node, ast.Assign) and name == "the module":
        name = ast.unparse(node.targets[0])
    name = getattr(node, "name", None) or name
    yield node, name
    for inner in ast.iter_child_nodes(node):
        yield from named(inner, name)


def test_the_keywords_are_spelled_out_in_few_places():
    files = [path for folder in ("src", "integrations") for path in sorted((ROOT / folder).rglob("*.py"))]
    # An example is a use of the keywords, not a list of them.
    shipped = [path for path in files if path.parent.name != "example_dags"]
    assert len(shipped) > 50
    found = [place for path in shipped for place in places(path.relative_to(ROOT).as_posix(), path.read_text())]
    assert sorted(found) == sorted(ALLOWED)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def f(ks, *, rule, z, metric, scale): ...", "signature of f"),
        ("def f(self):\n    self.ks, self.rule = 1, 2\n    self.z = self.metric = self.scale = 3", "assignments of f"),
        ("class C:\n    ks: int\n    rule: int\n    z: int\n    metric: int\n    scale: int", "fields of C"),
        ("NAMES = ('ks', 'rule', 'z', 'metric', 'scale')", "collection of NAMES"),
        ("NAMES = {'ks': 1, 'rule': 2, 'z': 3, 'metric': 4, 'scale': 5}", "collection of NAMES"),
        ("NAMES = dict(ks=1, rule=2, z=3, metric=4, scale=5)", "call of NAMES"),
        ("print(['ks', 'rule', 'z', 'metric', 'scale'])", "collection of the module"),
        ("def f():\n    return dict(ks=1, rule=2, z=3, metric=4, scale=5)", "call of f"),
        ("class C:\n    '''Of C.\n\n    ks, rule : int\n    z, metric, \\\\\n    scale\n    '''", "docstring of C"),
    ],
)
def test_every_kind_of_place_is_found(source, kind):
    assert list(places("x.py", source)) == [f"x.py: {kind}"]
    assert list(places("x.py", source.replace("scale", "other"))) == []
