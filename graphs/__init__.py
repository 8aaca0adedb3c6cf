"""What is seen: a flow as a networkx graph, the rules it must keep, and its exports."""
