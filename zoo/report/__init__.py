"""`report.html`: one file that shows what a run did, for people.

Everything is inside the file: charts are SVG drawn here, pictures are small JPEGs, and no script
runs. It opens from a disk, an e-mail or an archive, in light and in dark, and asks no network for
anything. Charts are drawn here rather than by a plot library because theirs are either pictures,
which cannot follow a dark page and cannot be searched, or need megabytes of script.
"""
