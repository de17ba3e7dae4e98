import sys; sys.path.insert(0, "tests/evaluation")
import gc, time, sys, asyncio, pytest
from test_hostile import *
from test_hostile import _everything_imported
@pytest.mark.parametrize("name", ["20,000 braces","a gzip bomb","a deflate bomb","200,000 verdicts"])
def test_x(faulty, monkeypatch, name):
    case=CASES[name]
    gcs=[]; t=[0]
    def cb(phase, info):
        if phase=="start": t[0]=time.thread_time()
        else: gcs.append((round(time.thread_time()-t[0],4), info["generation"]))
    blocks=[]
    run=asyncio.Handle._run
    def timed(h):
        b=time.thread_time(); n=len(gcs)
        try: run(h)
        finally: blocks.append((round(time.thread_time()-b,4), [g for g in gcs[n:] if g[0]>0.005], repr(h)[:80]))
    monkeypatch.setattr(asyncio.Handle,"_run",timed)
    gc.callbacks.append(cb)
    for i in range(6):
        blocks.clear()
        faulty.strikes(case.fault, frozenset({STRUCK}), always=True)
        judged(faulty, case)
        print(name, sorted(blocks,key=lambda b:b[0])[-3:], file=sys.__stderr__)
    gc.callbacks.remove(cb)
