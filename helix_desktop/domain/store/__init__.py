"""What a store is asked for and what it reports: entries, retention, repairs, archives."""
