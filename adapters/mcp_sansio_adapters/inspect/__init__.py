"""What a server does wrong, by the specification: it is watched, provoked, and judged by a table of rules.

A *conversation* is what passed over one connection, as it was (`conversation`). A *rule* is a pure function
over a conversation, with the sentence of the specification that it stands on (`rules`, the table; `judges_*`,
the functions), so that a recording can be judged as well as a server that is there. *Probes* make a
conversation worth judging (`probes`).
"""
