# GET /random?num=N with Trot: a JSON list of N random numbers, each as a string of six digits.

defmodule Technology.Router do
  use Trot.Router

  get "/random" do
    given = conn |> fetch_query_params() |> Map.get(:query_params) |> Map.get("num", "10")

    case Integer.parse(given) do
      {num, ""} when num in 0..100_000 -> {200, for(_ <- 1..num//1, do: Technology.Router.number())}
      _ -> {400, "num is a number from 0 to 100000"}
    end
  end

  def number do
    (:rand.uniform(1_000_000) - 1) |> Integer.to_string() |> String.pad_leading(6, "0")
  end

  use Trot.NotFound
end

defmodule Technology.Application do
  use Application

  def start(_type, _args) do
    setting = fn name -> (value = System.get_env(name)) && String.to_integer(value) end
    # Without a backlog of its own Ranch takes 1024.
    backlog = if number = setting.("BACKLOG"), do: [backlog: number], else: []
    listener = [ip: {127, 0, 0, 1}, port: setting.("PORT"), transport_options: [socket_opts: backlog]]
    server = {Plug.Cowboy, scheme: :http, plug: Technology.Router, options: listener}
    Supervisor.start_link([server], strategy: :one_for_one)
  end
end
