"""How the time of a training divides into its products and the rest, from passes in which each operation is timed."""

from ladder.report import study

# The first words of the phases of products: forward, of the weight gradients, and of the deltas.
KINDS = ("forward", "gradient", "delta")


def shares_of(found, product, threads):
    """The share of each kind of operation in every pass of a training: rows of process and pass, columns by kind."""
    rows = found.rows("samples", "mlp_threads", product=product, threads=threads, dtype="float64")
    rows = study.one_size(rows[rows["phase"] != "total"] if len(rows) else rows)
    if rows.empty:
        return rows.iloc[:0, :0]
    kind = rows["phase"].str.split(" ").str[0]
    spent = rows.groupby([rows["process"], rows["sample"], kind])["seconds"].sum().unstack(fill_value=0.0)
    shares = spent.div(spent.sum(axis=1), axis=0).reindex(columns=[*KINDS], fill_value=0.0)
    products = shares.sum(axis=1)
    return shares.assign(products=products, rest=1 - products)
