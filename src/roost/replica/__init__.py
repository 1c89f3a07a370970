"""Code that runs inside Ray: it builds the servable and the ASGI stack in front of it.

Only `builder.py` imports ray. Nothing here may import records, services or the server.
"""
