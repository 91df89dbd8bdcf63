"""Run-time support of the nodes: environment, execution, subscriptions and threads."""
