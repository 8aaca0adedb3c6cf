"""What is touched: the tools of the workspace, their declared effects, and the policy that guards them."""
