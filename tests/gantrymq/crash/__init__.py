"""A broker's store that is killed, or loses its power, and what must be there afterwards.

nursery     a warm process that forks a writer in milliseconds
writer      one life of a store: recovery, stock-taking, puts, clean stop
sendings    what is put, known from its number alone
ledger      what was promised, against what is found
trial       life after life in one folder, each ended at a drawn moment
mutants     writers that break a promise, for tests of the tests
"""
