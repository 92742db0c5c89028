"""The inspector of the session on screen: what its rows do, what it compares, the request as it is sent."""
