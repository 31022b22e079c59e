"""From chunks to takes: plan, requests, the loop, checks, the store."""
