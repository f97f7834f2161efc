"""What ``%compsil?`` shows, made from the same options that are read."""

from __future__ import annotations

import argparse
from functools import partial

from compsil_jupyter.magic.options import COMMANDS, options

_ABOUT = """How many clusters? Composite Silhouette of a frame or an array.

%compsil DATA [options]                    select the number of clusters
%compsil compare DATA [options]            put the composite silhouette beside the other criteria
%compsil explore DATA [options]            open the interactive explorer
%compsil report DATA OUT.html [options]    write the selection into one HTML file
%%compsil [options]                        run the cell; its last line is the data

DATA is any Python expression; spaces inside brackets and quotes are fine. The result is returned:
r = %compsil df keeps it, a ; at the end of the line keeps it from being shown. An interrupt of the
kernel keeps and returns the finished part.

Values of options may be names of variables: --ks 2:kmax, --clusterer my_estimator. A word that
means something by itself (--clusterer gmm, or a column's name) wins over a variable of that name.
Names of columns with spaces or commas go in quotes: --columns age,"net income". A variable called
compare, explore, report or select is the data where it stands alone."""
_EXAMPLES = """examples:
  %compsil df --ks 2:10 -B 30 --rule lcb -o result
  %compsil df[df.city == "Oslo S"] --columns age,"net income" --scale robust
  %compsil X[:, :-1] --clusterer gmm --sample-size 0.5 --seed 0 -j -1
  %compsil compare df --criteria composite,gap
  %compsil report df out.html --compare
  %config CompsilMagics.n_subsamples = 50    (%config CompsilMagics lists all defaults)"""


def _make_help() -> str:
    # A fixed width, as the text is made once and not where it is shown.
    style = partial(argparse.RawDescriptionHelpFormatter, width=100, max_help_position=32)
    parser = argparse.ArgumentParser(
        prog="%compsil", usage=argparse.SUPPRESS, description=_ABOUT, epilog=_EXAMPLES, add_help=False,
        formatter_class=style,
    )  # fmt: skip
    every = {option.flags: option for command in COMMANDS for option in options(command)}
    titles = dict.fromkeys(option.group for option in every.values() if option.group != "output")
    groups = {title: parser.add_argument_group(title) for title in (*titles, "output")}
    for option in every.values():
        plain = {key: value for key, value in option.spec.items() if key not in ("type", "default")}
        groups[option.group].add_argument(*option.flags, **plain)
    return parser.format_help()


HELP = _make_help()
