import Config

config :phoenix, :json_library, Jason
# One line for each request otherwise.
config :logger, level: :warning
