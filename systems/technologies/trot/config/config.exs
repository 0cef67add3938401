import Config

# Trot's own list has a log line for each request and a reload of changed sources.
config :trot, :pre_routing, []
config :logger, level: :warning
