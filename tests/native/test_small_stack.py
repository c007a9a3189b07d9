"""Every kernel works on a thread with a stack of 64 KB, with the longest rows: scratch memory is on the heap."""

from __future__ import annotations

import child

CODE = """
threading.stack_size(65536)
documents = [rng.standard_normal((length, 4096), np.float32) for length in (1, 15, 16, 17, 40)]
queries = [rng.standard_normal((tokens, 4096), np.float32) for tokens in (1, 4, 33)]
done = []

def work():
    index = ms.Index.build(documents, threads=1)
    for policy in (ms.Certified(), ms.Bandit(margin=0), ms.Exhaustive()):
        for query in queries:
            hits = index.search(query, 2, policy=policy, threads=1)
            hits.explain(0)
        index.search_many(queries, 2, policy=policy, threads=1)
    ms.maxsim(queries[0], documents, threads=1)
    done.append(ms.isa())

thread = threading.Thread(target=work)
thread.start()
thread.join()
print(*done)
"""


@child.not_sanitized
def test_stack_of_64_kb(isa: str) -> None:
    assert child.run(CODE, MAXSIEVE_ISA=isa) == f"{isa}\n"
