"""The combinatorial core: problem, cost model, join graph and state graph."""
