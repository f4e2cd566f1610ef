"""The one exception of the project: a sentence for the user, printed without a traceback."""


class LadderError(Exception):
    """What is wrong, where, and what to do, as one sentence."""
