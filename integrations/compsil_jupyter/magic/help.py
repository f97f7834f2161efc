"""The words of ``%compsil?`` around its list of options."""

ABOUT = """Select the number of clusters by Composite Silhouette.

%compsil DATA [options]                    select the number of clusters; same as %compsil select DATA
%compsil compare DATA [options]            compare the composite silhouette with other criteria
%compsil explore DATA [options]            open the interactive explorer
%compsil report DATA OUT.html [options]    select, and write the result to an HTML file
%%compsil [options]                        run the cell and use its last line as the data

DATA is a Python expression that gives a table, an array or a sparse matrix; with --metric precomputed,
a matrix of distances. The result is returned: r = %compsil df assigns it, and a trailing ; hides it. If
the kernel is interrupted, the result of the finished subsamples is returned.

The value of an option may be a variable: --ks 2:kmax, --clusterer my_estimator. A word with a meaning
of its own, such as gmm or the name of a column, takes precedence over a variable. Column names that
contain spaces or commas go in quotes: --columns age,"net income"."""
EXAMPLES = """examples:
  %compsil df --ks 2:10 -B 30 --rule lcb -o result
  %compsil df[df.city == "Oslo S"] --columns age,"net income" --scale robust
  %compsil X[:, :-1] --clusterer gmm --sample-size 0.5 --seed 0 -j -1
  %compsil compare df --criteria composite,gap
  %compsil report df out.html --compare
  %config CompsilMagics.n_subsamples = 50    (%config CompsilMagics lists all defaults)"""
