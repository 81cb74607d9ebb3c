"""A Flower app whose clients flip their own coins."""
