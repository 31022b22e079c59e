"""Turns takes into the files that listeners get: layout, music, encoding, companions, verification.

Everything that follows speech belongs here: the position and pause of each take, music, the
encoding, tags and names of files, formats beside the sound (subtitles, chapter lists, feeds), and
checks of finished files against a platform's demands. Nothing is spoken here; the platforms'
figures are in `project/profiles.py`, the formats and the arithmetic of samples in `sound/`.

    layout.py           takes -> a chapter's timeline and sound; music.py: what plays in it
    export/             chapters -> encoded, tagged files
    companions/         subtitles, chapter lists, read-along books, feeds beside them
    shelves/            finished files -> where people listen
    finish.py           all of these, from takes to files
    output_manifest.py  the finished files of a project; products.py: whether they are current
    rules.py            the demands of platforms, asked by preflight.py of a plan, and by
                        postflight.py of files; folder_checks.py, companion_checks.py: of folders
"""
