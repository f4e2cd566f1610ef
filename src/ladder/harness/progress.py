"""Progress on standard error: sentences that stay and, in a terminal, one line that is overwritten."""

import sys

ERASE = "\r\x1b[K"  # to the end of the line


class Progress:
    """What a verb says while it measures."""

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self.is_terminal = self.stream.isatty()
        self.shows_state = False
        self.printed_sentences = set()  # those of `say_once`

    def say(self, sentence):
        """Print a line that stays."""
        self.clear()
        print(sentence, file=self.stream, flush=True)

    def say_once(self, sentence):
        """Print a line that stays, unless it was printed before."""
        if sentence not in self.printed_sentences:
            self.printed_sentences.add(sentence)
            self.say(sentence)

    def show(self, state):
        """Show the current state, in place of the previous one in a terminal; elsewhere it is a line like others."""
        if not self.is_terminal:
            self.say(state)
            return
        print(f"{ERASE}{state}", end="", file=self.stream, flush=True)
        self.shows_state = True

    def clear(self):
        """Erase the current state."""
        if self.shows_state:
            print(ERASE, end="", file=self.stream, flush=True)
        self.shows_state = False


class SilentProgress(Progress):
    """The progress of a job, whose log needs no progress."""

    def say(self, sentence):
        """Print nothing."""

    show = say


def percent(fraction):
    """A fraction in per cent, with two digits; from 1 on, only that it is more than 100 %."""
    return f"{100 * fraction:.2g} %" if fraction < 1 else "more than 100 %"
