"""From chunks to takes: plan, requests, the loop, checks, the store.

What lies between a chunk and a take that is kept belongs here: which chunks carry over to which,
why one is spoken, what a take must pass and what happens where it does not, what is remembered of
it. How speech is made is an engine's; what becomes of takes is `delivery/`'s.
"""
