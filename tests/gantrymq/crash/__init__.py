"""A broker's store that is killed, or loses its power, and what must be there afterwards.

nursery     a warm process that forks a writer in milliseconds
writer      one life of a store: recovery, stock-taking, puts, clean stop
sendings    what is put, known from its number alone
ledger      what was promised, against what is found
trial       life after life in one folder, each ended at a drawn moment
mutants     writers that break a promise, for tests of the tests

And a whole broker, a process of its own:

broker_trial    life after life of it, while clients work; what is left is judged in the end
role_...        what one client does, what it was promised, and what it finds
link            their connections
"""
