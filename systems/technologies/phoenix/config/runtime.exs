import Config

# Where it listens; a command of mix has no address.
listen =
  if text = System.get_env("LISTEN") do
    {:ok, address} = text |> String.to_charlist() |> :inet.parse_ipv4_address()
    [ip: address]
  else
    []
  end

setting = fn name -> (value = System.get_env(name)) && String.to_integer(value) end
# Without a backlog of its own Ranch takes 1024.
backlog = if number = setting.("BACKLOG"), do: [backlog: number], else: []

config :technology, Technology.Endpoint,
  adapter: Phoenix.Endpoint.Cowboy2Adapter,
  http: listen ++ [port: setting.("PORT") || 0, transport_options: [socket_opts: backlog]],
  render_errors: [formats: [json: Technology.ErrorJSON]],
  server: System.get_env("PORT") != nil
