"""`zoo demo`: a page on this computer to try models on pictures and text, and to watch runs.

`shelf` knows what can be chosen, `answers` computes, `app` speaks HTTP, `guard` turns away who is
not the page, `static` is the page. The server is bottle, one file without dependencies, under
waitress, a plain-Python server with limits on connections, bodies and silence, without
dependencies either: a model computes on threads, so an asynchronous server would add eight packages
and hand every request to a thread all the same.
"""
