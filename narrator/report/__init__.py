"""The numbers of a project: how it sounds, what is complete, what went wrong.

It gathers facts and measures the finished files; what was measured is kept under `build`, so that a
second report takes a moment. A figure of the report belongs here; the studio draws it. It
changes nothing that listeners get.

    facts.py    plan, store and files -> what is to be said
    sound.py    finished files -> curves and figures, kept between runs
    data.py     facts and sound -> JSON
    pickups.py  a list of pickups as a page to print
"""
