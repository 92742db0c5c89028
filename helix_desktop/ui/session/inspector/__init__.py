"""The inspector of the session on screen: what its rows do, the request as it is sent."""
