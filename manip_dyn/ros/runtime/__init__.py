"""Runtime of nodes: environment, execution, subscriptions, threads."""
