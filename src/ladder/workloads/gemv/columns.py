"""Descriptions of the columns that gemv's sizes and tunings have in the tables."""

COLUMNS = {
    "n": "rows of the matrix",
    "m": "columns of the matrix",
    "mode": "whether every product sends the matrix to the ranks (ship), or they keep it (resident)",
    "chunks": "parts in which the matrix is sent, so that a GPU computes while the next part arrives",
    "binding": "OpenMP's binding of threads to cores: spread over the sockets, or close to each other",
    "schedule": "OpenMP's schedule of the rows",
    "tile": "the side of the tiles in which the matrix is transposed",
    "team": "threads that read a row together",
    "rows": "rows that a team computes at once",
    "unroll": "pending accesses per row",
}
